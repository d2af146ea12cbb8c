/** Listeners by event name, removed singly, by name, or all at once. */
export class Emitter {
  #names;
  #listeners = new Map();

  /** `names`: the events there are, where they are known; others are then refused. */
  constructor(names) {
    this.#names = names;
  }

  /** Throws where there is no such event. */
  check(name) {
    if (this.#names && !this.#names.includes(name)) {
      throw new RangeError(`no event "${name}"; there are ${this.#names.join(", ")}`);
    }
  }

  /** How many listeners there are. */
  get size() {
    let count = 0;
    for (const listeners of this.#listeners.values()) count += listeners.length;
    return count;
  }

  /** Adds a listener; returns a function that removes it. */
  on(name, call) {
    this.check(name);
    if (typeof call !== "function") throw new TypeError("a listener must be a function");
    const listener = { call, removed: false, progress: new Map() };
    if (!this.#listeners.has(name)) this.#listeners.set(name, []);
    this.#listeners.get(name).push(listener);
    return Object.assign(() => this.#remove(name, listener), { listener });
  }

  /** Removes one listener, those of an event, or all; no effect where there are none. */
  off(name, call) {
    if (name !== undefined) this.check(name);
    for (const each of name === undefined ? [...this.#listeners.keys()] : [name]) {
      for (const listener of [...(this.#listeners.get(each) ?? [])]) {
        if (call === undefined || listener.call === call) this.#remove(each, listener);
      }
    }
  }

  /** Forgets all; calls that are due are still made. */
  clear() {
    this.#listeners.clear();
  }

  /** Has every listener of an event called, after what is being done now. */
  emit(name, event) {
    for (const listener of this.#listeners.get(name) ?? []) this.notify(listener, name, event);
  }

  /** Has one listener called. Of a transfer's progress that is due it sees the latest only. */
  notify(listener, name, event) {
    // As a task of its own: one that throws is the host's affair, and holds up no reply.
    if (name !== "progress") {
      queueMicrotask(() => listener.removed || listener.call(event));
      return;
    }
    const { progress } = listener;
    const isDue = progress.has(event.transferId);
    progress.set(event.transferId, event);
    if (isDue) return;
    queueMicrotask(() => {
      const latest = progress.get(event.transferId);
      progress.delete(event.transferId);
      if (!listener.removed) listener.call(latest);
    });
  }

  #remove(name, listener) {
    listener.removed = true;
    const left = (this.#listeners.get(name) ?? []).filter((other) => other !== listener);
    if (left.length > 0) this.#listeners.set(name, left);
    else this.#listeners.delete(name);
  }
}
