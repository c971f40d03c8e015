/**
 * Plays programs: has their rounds follow each other, and takes down how long
 * they took.
 *
 * Invariant: a call arrives once its history exists, a round begins a pause
 * after the last call of the former has ended, and a program that has begun
 * ends unless one of its calls is shed.
 *
 * @module
 */
import type { Agenda } from "./agenda.ts";
import type { EngineModel } from "./engines.ts";
import { idealMs, remainingMs } from "./ideal.ts";
import { type LiveCall, NEVER } from "./live_call.ts";
import type { Program } from "./programs.ts";
import { type Transcript, Transcripts } from "./transcripts.ts";

/** What came of a program. */
export interface ProgramOutcome {
  readonly shape: string;
  readonly arrivedAtMs: number;
  /** From its arrival to the end of its last call; NaN when one was shed. */
  readonly responseMs: number;
  /** The same if it had an engine to itself. */
  readonly idealMs: number;
  readonly callCount: number;
}

/** A program under way. */
interface Running {
  readonly program: Program;
  /** Texts of all calls so far, by round. */
  readonly texts: Transcript[][];
  /** Work left from each round on, in milliseconds. */
  readonly remaining: readonly number[];
  round: number;
  /** Calls of the round that have not ended. */
  openCount: number;
  callCount: number;
  isShed: boolean;
}

/** What a player needs. */
export interface PlayerDeps {
  readonly agenda: Agenda;
  readonly model: EngineModel;
  /** Takes a call that has arrived. */
  readonly arrive: (call: LiveCall, nowMs: number) => void;
  /** Hears of each program that is over. */
  readonly ended: (outcome: ProgramOutcome, nowMs: number) => void;
}

/** Plays the programs of one run. */
export class Player {
  readonly #deps: PlayerDeps;
  readonly #transcripts = new Transcripts();
  /** Programs under way, by number. */
  readonly #running: (Running | undefined)[] = [];
  #callCount = 0;
  #openCount = 0;

  constructor(deps: PlayerDeps) {
    this.#deps = deps;
  }

  /** Programs that have arrived and are not over. */
  get openCount(): number {
    return this.#openCount;
  }

  /** Begins a program now. */
  begin(program: Program, nowMs: number): void {
    const running: Running = {
      program,
      texts: [],
      remaining: remainingMs(program, this.#deps.model),
      round: 0,
      openCount: 0,
      callCount: 0,
      isShed: false,
    };
    this.#running[program.number] = running;
    this.#openCount++;
    this.#beginRound(running, nowMs);
  }

  /** Notes that a call has been answered, or shed. */
  end(call: LiveCall, nowMs: number, isShed = false): void {
    const running = this.#running[call.program];
    if (running === undefined) {
      throw new RangeError(`Cannot end a call of program ${call.program}`);
    }
    running.openCount--;
    running.isShed ||= isShed;
    if (running.openCount > 0) return;
    running.round++;
    const next = running.program.rounds[running.round];
    if (next === undefined || running.isShed) return this.#over(running, nowMs);
    this.#deps.agenda.note(
      nowMs + next.pauseMs,
      (atMs) => this.#beginRound(running, atMs),
    );
  }

  #beginRound(running: Running, nowMs: number): void {
    const { program, round, texts } = running;
    const { after, calls } = program.rounds[round] ?? { calls: [] };
    const history = after && texts[after.round]?.[after.call];
    const remaining = running.remaining[round] ?? 0;
    const written = calls.map((plan) =>
      this.#transcripts.follow(history, plan)
    );
    texts.push(written);
    running.openCount = calls.length;
    running.callCount += calls.length;
    calls.forEach((plan, at) => {
      const text = written[at];
      if (text === undefined) return;
      this.#deps.arrive({
        ...text,
        id: this.#callCount++,
        program: program.number,
        plan,
        remainingMs: remaining,
        arrivedAtMs: nowMs,
        startedAtMs: NEVER,
        firstTokenAtMs: NEVER,
        endedAtMs: NEVER,
        cachedTokens: 0,
      }, nowMs);
    });
  }

  #over(running: Running, nowMs: number): void {
    const { program, isShed } = running;
    this.#running[program.number] = undefined;
    this.#openCount--;
    this.#deps.ended({
      shape: program.shape,
      arrivedAtMs: program.arrivesAtMs,
      responseMs: isShed ? NaN : nowMs - program.arrivesAtMs,
      idealMs: idealMs(program, this.#deps.model),
      callCount: running.callCount,
    }, nowMs);
  }
}
