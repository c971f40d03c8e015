/**
 * A program on a pseudo-terminal, which script(1) makes and forwards.
 *
 * A shell says what the line discipline is before the program and after it, and
 * what it ended with; the program says what it has left.
 *
 * Invariant: what a test starts has ended when the test has, and every wait
 * for it is bounded.
 *
 * @module
 */
import { Running } from "../binary/executable.ts";

/** What a shell runs on the terminal; `stty -g` prints all of its settings. */
const SHELL = `
stty rows "$ROWS" cols "$COLUMNS_WANTED"
echo "before=$(stty -g) tty=$(tty)"
sh -c 'echo pid=$$; exec "$@"' sh "$@"
echo "code=$? after=$(stty -g)"
`;

/** What came of it. */
export interface TerminalEnd {
  readonly code: number;
  /** Whether the line discipline is what it was. */
  readonly isAsBefore: boolean;
  /** All that was written to the terminal. */
  readonly text: string;
}

/** A running program. */
export class PseudoTerminal implements AsyncDisposable {
  readonly #process: Running;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #file: string;

  constructor(
    process: Running,
    input: WritableStreamDefaultWriter<Uint8Array>,
    file: string,
  ) {
    this.#process = process;
    this.#input = input;
    this.#file = file;
  }

  /** Whether there is script(1) of util-linux here. */
  static async isAvailable(): Promise<boolean> {
    try {
      const { success } = await new Deno.Command("script", {
        args: ["--version"],
        stdout: "null",
        stderr: "null",
      }).output();
      return success;
    } catch {
      return false;
    }
  }

  /** Starts a program of this project with these arguments. */
  static async start(
    entry: URL,
    args: readonly string[],
    size: { readonly columns: number; readonly rows: number },
  ): Promise<PseudoTerminal> {
    const file = await Deno.makeTempFile({ suffix: ".sh" });
    await Deno.writeTextFile(file, SHELL);
    const words = [
      ...["sh", file, Deno.execPath(), "run", "-A", "--quiet", "--no-check"],
      ...[entry.pathname, ...args],
    ].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
    const child = new Deno.Command("script", {
      args: ["-qfc", words.join(" "), "/dev/null"],
      env: {
        ROWS: String(size.rows),
        COLUMNS_WANTED: String(size.columns),
        TERM: "xterm",
      },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    return new PseudoTerminal(
      new Running(child),
      child.stdin.getWriter(),
      file,
    );
  }

  /** Waits until this has been written. */
  shows(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#process.until("out", pattern);
  }

  async press(keys: string): Promise<void> {
    await this.#input.write(new TextEncoder().encode(keys));
  }

  /** Sends a signal to the program itself. */
  async signal(name: Deno.Signal): Promise<void> {
    const [, pid] = await this.shows(/pid=(\d+)/);
    Deno.kill(Number(pid), name);
  }

  /** Gives the terminal another size, as a window does. */
  async resize(columns: number, rows: number): Promise<void> {
    const [, tty = ""] = await this.shows(/tty=(\S+)/);
    await new Deno.Command("stty", {
      args: ["-F", tty, "cols", String(columns), "rows", String(rows)],
    }).output();
  }

  async ended(): Promise<TerminalEnd> {
    const [, code, after] = await this.shows(/code=(\d+) after=(\S+)/);
    const [text = "", before] = await this.shows(/before=(\S+)[^]*/);
    const [, left] = /left=(\S+)/.exec(text) ?? [];
    const isAsBefore = before === left && before === after;
    return { code: Number(code), isAsBefore, text };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#input.close().catch(() => {});
    await this.#process[Symbol.asyncDispose]();
    await Deno.remove(this.#file);
  }
}
