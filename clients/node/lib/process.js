/** The sidecar's process: its pipes, its end, and nothing left behind. */

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";

import { BinaryNotFound, ConnectionClosed } from "./errors.js";
import { LineSplitter } from "./lines.js";

/** How many last lines of stderr are kept for the report of a death. */
const STDERR_LINES = 20;

/** Milliseconds a process may live on without stdout, or its pipes without the process. */
const PIPE_GRACE = 2000;

/**
 * One running program: lines in, lines out, signals, and one report of its end.
 *
 * `onLine` gets every line of stdout as a Buffer, `onStderr` every line of stderr as a string,
 * `onEnd` is called once, after the process ended and its pipes were read to their end (with the
 * error of `onLine` where that was why).
 */
export class SidecarProcess {
  #on;
  #child;
  #corked = false;
  #held = true;
  #fault;
  #timers = new Set();
  #ended;
  #end;

  constructor({ onLine, onStderr, onEnd }) {
    this.#on = { onLine, onStderr, onEnd };
    this.#ended = new Promise((resolve) => (this.#end = resolve));
    this.alive = false;
    this.exitCode = null;
    this.signal = null;
    this.stderrTail = [];
  }

  /** Starts the program in a process group of its own. */
  async start(program, args, env, cwd) {
    try {
      // Once this throws or "error" comes instead of "spawn", nothing else will.
      this.#child = spawn(program, args, { env, cwd, detached: true, stdio: "pipe" });
      await new Promise((resolve, reject) => {
        this.#child.once("spawn", resolve).once("error", reject);
      });
    } catch (error) {
      const missing = cwd !== undefined && !existsSync(cwd) ? cwd : program;
      throw new BinaryNotFound([`${missing} (${error.code ?? error.message})`], error);
    }
    this.alive = true;
    living.add(this);
    const { stdin, stdout, stderr } = this.#child;
    const lines = new LineSplitter();
    stdout.on("data", (chunk) => this.#read(() => lines.feed(chunk)));
    stdout.on("close", () => {
      this.#read(() => [lines.rest()].filter((line) => line.length > 0));
      this.#later(() => this.kill("SIGKILL"));
    });
    const words = new LineSplitter(65536);
    stderr.on("data", (chunk) => {
      try {
        words.feed(chunk).forEach((line) => this.#say(line));
      } catch {
        // An endless line of stderr is not worth a death.
      }
    });
    stderr.on("close", () => {
      const rest = words.rest();
      if (rest.length > 0) this.#say(rest);
    });
    // Each would end the host if nobody listened. What they mean shows at the end of stdout.
    for (const emitter of [this.#child, stdin, stdout, stderr]) emitter.on("error", () => {});
    this.#child.on("exit", () => {
      // A process that inherited our pipes may hold them open for ever.
      this.#later(() => [stdin, stdout, stderr].forEach((pipe) => pipe.destroy()));
    });
    this.#child.on("close", (code, signal) => this.#closed(code, signal));
  }

  /** The process's id. */
  get pid() {
    return this.#child?.pid;
  }

  /** Queues a line for stdin; lines of one turn of the event loop go out together. */
  write(line) {
    const { stdin } = this.#child;
    if (!stdin.writable) throw new ConnectionClosed("the ferry process no longer reads");
    if (!this.#corked) {
      this.#corked = true;
      stdin.cork();
      process.nextTick(() => {
        this.#corked = false;
        stdin.uncork();
      });
    }
    stdin.write(line);
  }

  /** Tells the program that no more comes. */
  closeStdin() {
    this.#child.stdin.end();
  }

  /** Signals its process group; nothing if it has ended. */
  kill(signal) {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    try {
      process.kill(-this.pid, signal);
    } catch {
      // It ended this very moment.
    }
  }

  /** Waits for its end; false when the time is up. */
  async wait(ms) {
    if (ms === undefined) return this.#ended;
    let timer;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, ms, false)));
    const ended = await Promise.race([this.#ended, late]);
    clearTimeout(timer);
    return ended;
  }

  /** Whether the host's event loop goes on while this process lives. */
  hold(held) {
    if (held === this.#held) return;
    this.#held = held;
    const verb = held ? "ref" : "unref";
    const { stdin, stdout, stderr } = this.#child;
    for (const handle of [this.#child, stdin, stdout, stderr]) handle[verb]();
  }

  #read(cut) {
    if (this.#fault) return;
    try {
      for (const line of cut()) this.#on.onLine(line);
    } catch (error) {
      // Which request a broken line answered is unknown, so none can be trusted any more.
      this.#fault = error;
      this.kill("SIGKILL");
    }
  }

  #say(line) {
    const text = line.toString();
    this.stderrTail.push(text);
    if (this.stderrTail.length > STDERR_LINES) this.stderrTail.shift();
    if (this.#on.onStderr) queueMicrotask(() => this.#on.onStderr(text));
  }

  #later(act) {
    this.#timers.add(setTimeout(act, PIPE_GRACE).unref());
  }

  #closed(code, signal) {
    this.alive = false;
    this.exitCode = code;
    this.signal = signal;
    living.delete(this);
    this.#timers.forEach(clearTimeout);
    this.#on.onEnd(this.#fault);
    this.#end(true);
  }
}

const living = new Set();

// process.exit, or an exception nobody caught: there is no time but for an orderly signal.
process.on("exit", () => {
  for (const sidecar of living) sidecar.kill("SIGTERM");
});
