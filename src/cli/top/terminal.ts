/**
 * The terminal, taken over as a whole and given back as it was.
 *
 * It is drawn on its second screen, which most terminals have, so that what
 * stood there before stands there afterwards. Keys come as they are pressed.
 *
 * Sources: ECMA-48 (CUP, EL, ED); the private modes 25 and 1049 of xterm.
 *
 * Invariant: once it is open, closing it gives back the screen, the cursor and
 * the line discipline, whatever has failed meanwhile and however often it is
 * asked to. `using` closes it when an error passes by, and signals that would
 * end the process are events.
 *
 * @module
 */
import { onSignal } from "../../system/signals.ts";
import { keysOf } from "./terminal_keys.ts";

/** Size of a picture. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** What happens at a terminal. */
export interface TerminalEvents {
  key(key: string): void;
  /** It has another size now. */
  resized(): void;
  /** It has gone, or the process is told to end. */
  ended(signal: Deno.Signal | undefined): void;
}

/** What a terminal without a size is taken for, as a VT100 is. */
const USUAL_SIZE: TerminalSize = { columns: 80, rows: 24 };

const OPEN = "\x1b[?1049h\x1b[?25l";
const CLOSE = "\x1b[0m\x1b[?25h\x1b[?1049l";
const HOME = "\x1b[H";
const CLEAR_TO_END_OF_LINE = "\x1b[K";
const CLEAR_BELOW = "\x1b[J";

/** Signals that would end the process and leave the terminal as it is. */
const END_SIGNALS: readonly Deno.Signal[] = ["SIGTERM", "SIGINT", "SIGHUP"];

/** More than anybody presses at once; the rest is read next. */
const KEYS_BYTES = 256;

/** Whether there is a terminal to look at and to press keys on. */
export function hasTerminal(): boolean {
  return Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
}

/** The terminal while it is taken over. */
export class Terminal implements Disposable {
  readonly #events: TerminalEvents;
  readonly #undo: (() => void)[] = [];
  #isOpen = true;

  /**
   * Takes the terminal over.
   *
   * @throws {Error} when there is none; then nothing has changed.
   */
  constructor(events: TerminalEvents) {
    this.#events = events;
    Deno.stdin.setRaw(true);
    try {
      this.#undo.push(() => Deno.stdin.setRaw(false));
      for (const signal of END_SIGNALS) {
        this.#undo.push(onSignal(signal, () => events.ended(signal)));
      }
      this.#undo.push(onSignal("SIGWINCH", () => events.resized()));
      this.#undo.push(() => write(CLOSE));
      write(OPEN);
      this.#readKeys();
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  get size(): TerminalSize {
    try {
      const { columns, rows } = Deno.consoleSize();
      return columns > 0 && rows > 0 ? { columns, rows } : USUAL_SIZE;
    } catch {
      return USUAL_SIZE;
    }
  }

  /**
   * Shows a picture that fits.
   *
   * @throws {Error} when the terminal has gone.
   */
  draw(lines: readonly string[]): void {
    if (!this.#isOpen) return;
    const text = lines.map((line) => line + CLEAR_TO_END_OF_LINE);
    write(HOME + text.join("\r\n") + CLEAR_BELOW);
  }

  /** Gives it back. Idempotent. */
  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const undo of this.#undo.reverse()) {
      try {
        undo();
      } catch {
        // A terminal that has gone takes nothing back; the rest is tried.
      }
    }
  }

  /** Reads until the terminal has gone; the last read outlives closing. */
  async #readKeys(): Promise<void> {
    const buffer = new Uint8Array(KEYS_BYTES);
    try {
      for (;;) {
        const count = await Deno.stdin.read(buffer);
        if (!this.#isOpen) return;
        if (count === null) break;
        for (const key of keysOf(buffer.subarray(0, count))) {
          this.#events.key(key);
        }
      }
    } catch {
      // What cannot be read any more has gone.
    }
    if (this.#isOpen) this.#events.ended(undefined);
  }
}

function write(text: string): void {
  const bytes = new TextEncoder().encode(text);
  let written = 0;
  while (written < bytes.length) {
    written += Deno.stdout.writeSync(bytes.subarray(written));
  }
}
