/** A list: await it for one page, iterate it for every entry of all pages from there on. */
export class Pages {
  #fetch;
  #entries;
  #following;
  #first;

  /** `fetch(mark)` gets a page, `entries` and `following` read it. */
  constructor(fetch, entries, following, first) {
    this.#fetch = fetch;
    this.#entries = entries;
    this.#following = following;
    this.#first = first;
  }

  /** The page that was asked for; the same as awaiting. */
  page() {
    return this.#fetch(this.#first);
  }

  then(fulfilled, rejected) {
    return this.page().then(fulfilled, rejected);
  }

  async *[Symbol.asyncIterator]() {
    let mark = this.#first;
    do {
      const page = await this.#fetch(mark);
      yield* this.#entries(page);
      mark = this.#following(page) ?? undefined;
    } while (mark !== undefined);
  }
}
