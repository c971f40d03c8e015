/**
 * One run: programs, a gateway and engines on a virtual clock.
 *
 * Invariant: the same programs and settings give the same run, event by event.
 *
 * @module
 */
import { seededRandom } from "../../bench/engine/seeded.ts";
import { Agenda } from "./agenda.ts";
import type { Contender } from "./contenders.ts";
import { type EngineModel, Engines } from "./engines.ts";
import { type Figures, Tally } from "./figures.ts";
import type { LiveCall } from "./live_call.ts";
import { Player, type ProgramOutcome } from "./player.ts";
import type { Program } from "./programs.ts";
import { type QueueSettings, VirtualGateway } from "./virtual_gateway.ts";

/** What to run. */
export interface SimulationOptions {
  readonly programs: readonly Program[];
  readonly contender: Contender;
  readonly engineCount: number;
  readonly model: EngineModel;
  readonly queue: QueueSettings;
  /** Of ties between endpoints. */
  readonly seed: number;
  /**
   * Keeps so many programs under way instead of letting them arrive when they
   * would: for how much engines can do at most.
   */
  readonly closedCount?: number;
  /** Hears of each program that is over. */
  readonly onProgram?: (outcome: ProgramOutcome) => void;
  /** Hears of each call that was answered. */
  readonly onCall?: (call: LiveCall) => void;
}

/** Runs programs to their end. */
export class Simulation {
  readonly #options: SimulationOptions;
  readonly #agenda = new Agenda();
  readonly #engines: Engines;
  readonly #gateway: VirtualGateway;
  readonly #player: Player;
  readonly #tally: Tally;
  /** Calls on engines, by id. */
  readonly #calls: (LiveCall | undefined)[] = [];
  #begun = 0;

  constructor(options: SimulationOptions) {
    this.#options = options;
    const { contender, engineCount, model, queue, seed } = options;
    this.#engines = new Engines(engineCount, model);
    this.#tally = new Tally(model.prefillMsPerToken);
    this.#player = new Player({
      agenda: this.#agenda,
      model,
      arrive: (call, nowMs) => this.#gateway.arrive(call, nowMs),
      ended: (outcome, nowMs) => {
        this.#tally.addProgram(outcome);
        options.onProgram?.(outcome);
        if (options.closedCount !== undefined) this.#beginNext(nowMs);
      },
    });
    this.#gateway = new VirtualGateway({
      endpointCount: engineCount,
      contender,
      queue,
      random: seededRandom(seed),
      start: (engine, call, nowMs) => {
        call.startedAtMs = nowMs;
        this.#calls[call.id] = call;
        this.#engines.submit(engine, call, nowMs);
      },
      // Later, as the queue is not to be entered while it is at work.
      shed: (call, nowMs) =>
        this.#agenda.note(nowMs, () => this.#player.end(call, nowMs, true)),
    });
  }

  /** Runs until all programs are over. */
  run(): Figures {
    const { closedCount, programs } = this.#options;
    for (let begun = 0; begun < (closedCount ?? 0); begun++) this.#beginNext(0);
    if (closedCount === undefined) {
      for (const program of programs) {
        this.#agenda.note(
          program.arrivesAtMs,
          (nowMs) => this.#player.begin(program, nowMs),
        );
      }
    }
    while (this.#step());
    return this.#tally.figures({
      cacheTokens: this.#engines.cacheTokens,
      spills: this.#gateway.spills,
    });
  }

  /** Has the next thing happen; false when there is none. */
  #step(): boolean {
    const { nextAtMs } = this.#gateway;
    const engineAtMs = this.#engines.nextAtMs;
    const agendaAtMs = this.#agenda.nextAtMs;
    const atMs = Math.min(nextAtMs, engineAtMs, agendaAtMs);
    if (atMs === Infinity) return false;
    // Engines first: who has just ended makes room for who comes.
    if (engineAtMs === atMs) this.#advance();
    else if (nextAtMs === atMs) this.#gateway.tick(atMs);
    else this.#agenda.runNext();
    return true;
  }

  #advance(): void {
    for (const event of this.#engines.advance()) {
      const call = this.#calls[event.id];
      if (call === undefined) continue;
      if (event.kind === "first_token") {
        call.firstTokenAtMs = event.atMs;
        call.cachedTokens = event.cachedTokens;
        this.#gateway.answered(call);
      } else {
        this.#calls[event.id] = undefined;
        call.endedAtMs = event.atMs;
        this.#tally.addCall(call);
        this.#options.onCall?.(call);
        this.#gateway.ended(call, event.atMs);
        this.#player.end(call, event.atMs);
      }
    }
  }

  #beginNext(nowMs: number): void {
    const program = this.#options.programs[this.#begun++];
    if (program === undefined) return;
    this.#player.begin({ ...program, arrivesAtMs: nowMs }, nowMs);
  }
}
