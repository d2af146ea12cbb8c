/** Events for one consumer that may be slow; of each transfer's progress it keeps the latest. */
export class EventStream {
  #queue;
  #ended = false;
  #error;
  #waiting = [];
  #left;

  /** `past`: events to begin with; `left` is called when the consumer ends early. */
  constructor(past, left) {
    this.#queue = [...past];
    this.#left = left;
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  next() {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#serve();
    });
  }

  /** Ends the iteration early; the transfer goes on. */
  async return(value) {
    this.#queue = [];
    this.end();
    this.#left();
    return { done: true, value };
  }

  /** Adds an event. */
  push(event) {
    if (this.#ended) return;
    const isSame = ({ transferId }) => transferId === event.transferId;
    const last = event.name === "progress" ? this.#queue.findLastIndex(isSame) : -1;
    if (this.#queue[last]?.name === "progress") this.#queue[last] = event;
    else this.#queue.push(event);
    this.#serve();
  }

  /** Ends it, after what is queued, by throwing where there is an error. */
  end(error) {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#serve();
  }

  #serve() {
    while (this.#waiting.length > 0 && (this.#queue.length > 0 || this.#ended)) {
      const { resolve, reject } = this.#waiting.shift();
      if (this.#queue.length > 0) {
        resolve({ done: false, value: this.#queue.shift() });
      } else if (this.#error !== undefined) {
        reject(this.#error);
        this.#error = undefined;
      } else {
        resolve({ done: true, value: undefined });
      }
    }
  }
}
