/** A promise that is settled from outside, and says whether it has been. */
export class Deferred {
  constructor() {
    this.done = false;
    this.promise = new Promise((resolve, reject) => {
      this.resolve = (value) => {
        this.done = true;
        resolve(value);
      };
      this.reject = (error) => {
        this.done = true;
        reject(error);
      };
    });
    // Seen: what nobody waits for must not end the host. Promises derived from it are its affair.
    this.promise.catch(() => {});
  }
}
