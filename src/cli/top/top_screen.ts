/**
 * `tryst top` on a terminal: draws, listens to keys and looks again.
 *
 * Invariant: it ends when it is told to, whatever it waits for, and gives the
 * terminal back first. A gateway that is away for a while is no reason to end:
 * the last picture stays, with what is wrong below it.
 *
 * @module
 */
import { systemClock } from "../../system/clock.ts";
import { EXIT } from "../command.ts";
import { hasTerminal, Terminal } from "./terminal.ts";
import { topFrame } from "./top_frame.ts";
import { applyChange, readStatus, type StatusAnswer } from "./top_source.ts";
import { FIRST_STATE, pressed, type TopChange } from "./top_state.ts";
import { topTable } from "./top_table.ts";

/** What it needs. */
export interface ScreenParts {
  readonly first: StatusAnswer;
  readonly intervalMs: number;
  readonly source: Parameters<typeof applyChange>[1];
}

/** What a process ends with that was ended by a signal, plus its number. */
const SIGNALED = 128;

/** Numbers of the signals that end it. */
const SIGNAL_NUMBERS: Readonly<Partial<Record<Deno.Signal, number>>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGTERM: 15,
};

/** Wide enough for each column, so that the order of the rows is all there. */
const ANY_WIDTH = 1_000;

/** Whether it can be used. */
export function canUseScreen(): boolean {
  return hasTerminal();
}

/** Runs until it is told to end; resolves to the exit code. */
export async function runScreen(parts: ScreenParts): Promise<number> {
  const screen = new TopScreen(parts);
  return await screen.run();
}

class TopScreen {
  readonly #parts: ScreenParts;
  readonly #end = Promise.withResolvers<number>();
  #terminal: Terminal | undefined;
  #status: StatusAnswer["status"];
  #previous: StatusAnswer["status"] | undefined;
  #state = FIRST_STATE;
  /** What is wrong with the gateway; goes when it answers again. */
  #trouble: string | undefined;
  #stopTimer: (() => void) | undefined;
  #isReading = false;

  constructor(parts: ScreenParts) {
    this.#parts = parts;
    this.#status = parts.first.status;
  }

  async run(): Promise<number> {
    using terminal = new Terminal({
      key: (key) => this.#press(key),
      resized: () => this.#draw(),
      ended: (signal) => this.#end.resolve(codeOf(signal)),
    });
    this.#terminal = terminal;
    try {
      this.#draw();
      this.#lookLater();
      return await this.#end.promise;
    } finally {
      this.#terminal = undefined;
      this.#stopTimer?.();
    }
  }

  #press(key: string): void {
    const { sort } = this.#state;
    const { rows } = topTable(
      { status: this.#status, previous: this.#previous, sort },
      ANY_WIDTH,
    );
    const { action, state } = pressed(
      this.#state,
      key,
      rows.map(({ id }) => id),
    );
    this.#state = state;
    if (action === "quit") this.#end.resolve(EXIT.ok);
    else if (action !== undefined) void this.#change(action);
    this.#draw();
  }

  async #change(change: TopChange): Promise<void> {
    let notice: string;
    try {
      notice = await applyChange(change, this.#parts.source);
    } catch (error) {
      notice = messageOf(error);
    }
    this.#state = { ...this.#state, notice };
    await this.#look();
  }

  /** Looks now, unless that is being done, and draws what there is. */
  async #look(): Promise<void> {
    if (this.#isReading || this.#terminal === undefined) return;
    this.#isReading = true;
    const { client, edge } = this.#parts.source;
    try {
      const { status } = await readStatus(client, edge);
      this.#previous = this.#status;
      this.#status = status;
      this.#trouble = undefined;
    } catch (error) {
      this.#trouble = messageOf(error);
    } finally {
      this.#isReading = false;
    }
    this.#draw();
  }

  #lookLater(): void {
    this.#stopTimer = systemClock.after(this.#parts.intervalMs, async () => {
      await this.#look();
      if (this.#terminal !== undefined) this.#lookLater();
    });
  }

  /** A terminal that cannot be drawn on ends it. */
  #draw(): void {
    const terminal = this.#terminal;
    if (terminal === undefined) return;
    try {
      terminal.draw(topFrame({
        status: this.#status,
        previous: this.#previous,
        state: {
          ...this.#state,
          notice: this.#trouble ?? this.#state.notice,
        },
        size: terminal.size,
        hasColor: !Deno.noColor,
      }));
    } catch (error) {
      this.#end.reject(error);
    }
  }
}

function codeOf(signal: Deno.Signal | undefined): number {
  const number = signal && SIGNAL_NUMBERS[signal];
  return number === undefined ? EXIT.failed : SIGNALED + number;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
