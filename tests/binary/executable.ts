/**
 * The compiled executable, started as a person or systemd starts it.
 *
 * `TRYST_BINARY` names one that is there already; without it the one that
 * `deno task compile` leaves in the project is used, compiled anew when a
 * source is younger.
 *
 * Invariant: a process that a test starts has ended when the test has, by
 * itself or by SIGKILL, and every wait for it is bounded.
 *
 * @module
 */

/** Milliseconds until a process must have said or done what it is told to. */
const WAIT_MS = 15_000;

const PROJECT = new URL("../../", import.meta.url);

/** What the executable is made of. */
const SOURCES: readonly string[] = ["deno.json", "main.ts", "src", "bench"];

let compiled: Promise<string> | undefined;

/** How a process is started. */
export interface StartOptions {
  /** Variables besides PATH, which is all it inherits. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** What a process came to that has ended by itself. */
export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A running process. */
export class Running implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #out: Promise<void>;
  readonly #err: Promise<void>;
  #text = { out: "", err: "" };
  #status: Deno.CommandStatus | undefined;
  #listeners = new Set<() => void>();

  constructor(process: Deno.ChildProcess) {
    this.#process = process;
    this.#out = this.#gather(process.stdout, "out");
    this.#err = this.#gather(process.stderr, "err");
    process.status.then((status) => {
      this.#status = status;
      this.#notify();
    });
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** Waits for a match in what standard output or error has said so far. */
  async until(
    stream: "out" | "err",
    pattern: RegExp,
  ): Promise<RegExpExecArray> {
    return await this.#wait(`${pattern} on std${stream}`, () => {
      const match = pattern.exec(this.#text[stream]);
      if (match === null && this.#status !== undefined) {
        throw new Error(`Cannot find ${pattern}: ${this.#account()}`);
      }
      return match ?? undefined;
    });
  }

  /** Waits for the end. */
  async ended(): Promise<Ended> {
    const { code } = await this.#wait("its end", () => this.#status);
    await Promise.all([this.#out, this.#err]);
    return { code, ...this.#text };
  }

  signal(name: Deno.Signal): void {
    this.#process.kill(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#status === undefined) this.signal("SIGKILL");
    await this.#process.status;
    await Promise.all([this.#out, this.#err]);
  }

  async #gather(
    stream: ReadableStream<Uint8Array>,
    name: "out" | "err",
  ): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      this.#text[name] += decoder.decode(chunk, { stream: true });
      this.#notify();
    }
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  #wait<T>(what: string, look: () => T | undefined): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const timer = setTimeout(
      () => reject(new Error(`Cannot wait for ${what}: ${this.#account()}`)),
      WAIT_MS,
    );
    const listener = () => {
      try {
        const found = look();
        if (found !== undefined) resolve(found);
      } catch (error) {
        reject(error);
      }
    };
    this.#listeners.add(listener);
    listener();
    return promise.finally(() => {
      clearTimeout(timer);
      this.#listeners.delete(listener);
    });
  }

  #account(): string {
    const state = this.#status === undefined
      ? "it still runs"
      : `it ended with ${this.#status.code}`;
    return `${state} and said ${JSON.stringify(this.#text)}`;
  }
}

/** Starts the executable. */
export async function start(
  args: readonly string[],
  options: StartOptions = {},
): Promise<Running> {
  compiled ??= executable();
  const command = new Deno.Command(await compiled, {
    args: [...args],
    env: { ...options.env, PATH: Deno.env.get("PATH") ?? "" },
    clearEnv: true,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
  return new Running(command.spawn());
}

/** Runs the executable to its end. */
export async function run(
  args: readonly string[],
  options: StartOptions = {},
): Promise<Ended> {
  await using process = await start(args, options);
  return await process.ended();
}

async function executable(): Promise<string> {
  const given = Deno.env.get("TRYST_BINARY");
  if (given !== undefined) return given;
  const path = new URL("tryst", PROJECT);
  if (await changedAtMs(path) <= await youngestSourceAtMs()) await compile();
  return path.pathname;
}

async function compile(): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "compile"],
    cwd: PROJECT,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) {
    const reason = new TextDecoder().decode(stderr).slice(-2_000);
    throw new Error(`Cannot compile the executable: ${reason}`);
  }
}

/** When a file was last written, or 0 when it is not there. */
async function changedAtMs(path: URL): Promise<number> {
  try {
    return (await Deno.stat(path)).mtime?.getTime() ?? 0;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}

async function youngestSourceAtMs(): Promise<number> {
  let youngest = 0;
  for (const name of SOURCES) {
    for await (const path of filesOf(new URL(name, PROJECT))) {
      youngest = Math.max(youngest, await changedAtMs(path));
    }
  }
  return youngest;
}

/** The sources under a path, or the path itself. Tests are no sources. */
async function* filesOf(path: URL): AsyncGenerator<URL> {
  if (!(await Deno.stat(path)).isDirectory) {
    yield path;
    return;
  }
  for await (const { name, isDirectory } of Deno.readDir(path)) {
    const inner = new URL(`${path.href}/${name}`);
    if (isDirectory) yield* filesOf(inner);
    else if (/(?<!_test|_bench)\.ts$/.test(name)) yield inner;
  }
}
