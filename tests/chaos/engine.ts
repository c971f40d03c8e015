/**
 * An engine of the chaos seen from outside: a process that is started, killed,
 * stopped and told what goes wrong.
 *
 * Invariant: what a process has said of requests is in the journal when its
 * end has been waited for, and no process outlives the disposal.
 *
 * @module
 */
import type { Fault } from "./faults.ts";
import type { EngineRecord, Journal } from "./journal.ts";

/** Milliseconds until a process that was started must listen. */
const START_MS = 15_000;

const WELL: Fault = { mode: "well", share: 0 };

/** One engine, with one process after another. */
export class ChaosEngine implements AsyncDisposable {
  readonly port: number;
  /** Whether nothing is wrong with it at the moment. */
  isWell = false;
  readonly #seed: number;
  readonly #journal: Journal;
  #process: Deno.ChildProcess | undefined;
  #input: WritableStreamDefaultWriter<Uint8Array> | undefined;
  #account: Promise<void> = Promise.resolve();
  #startCount = 0;

  constructor(
    options: {
      readonly port: number;
      readonly seed: number;
      readonly journal: Journal;
    },
  ) {
    this.port = options.port;
    this.#seed = options.seed;
    this.#journal = options.journal;
  }

  /** Starts a process; resolves once it listens. */
  async start(): Promise<void> {
    const program = new URL("./engine_process.ts", import.meta.url);
    const seed = this.#seed + this.#startCount++;
    const process = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", "--no-check", program.href],
        ...[String(this.port), String(seed)],
      ],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#process = process;
    this.#input = process.stdin.getWriter();
    const listening = Promise.withResolvers<void>();
    const timer = setTimeout(
      () => listening.reject(new Error("Cannot wait longer for an engine")),
      START_MS,
    );
    this.#account = this.#read(process.stdout, listening.resolve);
    // A process that ends before it listens never will.
    this.#account.then(() =>
      listening.reject(new Error("Cannot start an engine: it has ended"))
    );
    try {
      await listening.promise;
    } finally {
      clearTimeout(timer);
    }
    this.isWell = true;
  }

  /** Ends the process at once, whatever it is doing (SIGKILL). */
  async kill(): Promise<void> {
    this.isWell = false;
    const process = this.#process;
    if (process === undefined) return;
    this.#process = undefined;
    process.kill("SIGKILL");
    await process.status;
    await this.#account;
    await this.#input?.close().catch(() => {});
  }

  /** Stops the process in its tracks; its sockets stay, and fill (SIGSTOP). */
  freeze(): void {
    this.isWell = false;
    this.#process?.kill("SIGSTOP");
  }

  /** Lets it go on (SIGCONT). */
  thaw(): void {
    this.#process?.kill("SIGCONT");
    this.isWell = true;
  }

  /** Lets something go wrong with a share of its requests, until `heal()`. */
  async ail(fault: Fault): Promise<void> {
    this.isWell = false;
    await this.#tell(fault);
  }

  async heal(): Promise<void> {
    await this.#tell(WELL);
    this.isWell = true;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  async #tell(fault: Fault): Promise<void> {
    const line = new TextEncoder().encode(`${JSON.stringify(fault)}\n`);
    await this.#input?.write(line);
  }

  async #read(
    stdout: ReadableStream<Uint8Array>,
    onListening: () => void,
  ): Promise<void> {
    let text = "";
    const lines = stdout.pipeThrough(new TextDecoderStream());
    for await (const piece of lines) {
      text += piece;
      const whole = text.split("\n");
      // A line that a kill has cut off says nothing.
      text = whole.pop() ?? "";
      for (const line of whole) {
        if (line === "listening") onListening();
        else this.#journal.engines.push(JSON.parse(line) as EngineRecord);
      }
    }
  }
}
