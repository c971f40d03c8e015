/**
 * Takes a changed configuration while the gateway runs.
 *
 * The whole of it is read and checked first; then all of it is taken, or
 * nothing. What is fixed while the gateway runs (sockets, threads, sizes of
 * shared memory) stays as it is, is told, and holds from the next start on;
 * the rest is taken. Refusing the whole instead would have one key that can
 * wait keep away an endpoint that cannot.
 *
 * All endpoints at once are taken away by a restart only: a list that lost its
 * entries is more often a slip, or a file half written, than what is meant.
 *
 * Invariant: one reading is under way at a time. Whoever asks during one gets
 * the outcome of another that begins after it, which is one for all of them:
 * so what is asked for is never older than the question, and at most one
 * reading waits.
 *
 * @module
 */
import type { ReloadOutcome, ReloadReport } from "../admin/reload_outcome.ts";
import type { Config } from "../config/config.ts";
import { type ConfigChange, diffConfigs, keepFixed } from "../config/diff.ts";
import type { ApiKey } from "../core/api_key.ts";
import type { LogFields, Outside } from "../core/outside.ts";
import { keyPlanOf } from "./configured_keys.ts";
import { diffSecrets, type Secrets } from "./secrets.ts";

/** A disk that takes longer for a file of a megabyte hangs: 10 s. */
const LOAD_MS_MAX = 10_000;

/** Lines of one reload in the log and the outcome; more are counted. */
const LINES_MAX = 100;

/** What reading a configuration came to. */
export type LoadedConfig =
  | {
    readonly kind: "accepted";
    readonly config: Config;
    readonly warnings: readonly string[];
    /** What the files of secrets hold; none if absent. */
    readonly secrets?: Secrets<ApiKey> | undefined;
  }
  | { readonly kind: "refused"; readonly complaints: readonly string[] };

/**
 * What asks: a file that has changed, the admin API or a signal. What is asked
 * for by a person is always told of.
 */
export type ReloadTrigger = "file" | "admin" | "signal";

/** The triggers, the one that wants least to be told first. */
const TRIGGERS: readonly ReloadTrigger[] = ["file", "admin", "signal"];

/** What reloading is made of. */
export interface ReloaderParts {
  /** What the gateway was started with. */
  readonly config: Config;
  readonly secrets?: Secrets<ApiKey> | undefined;
  readonly outside: Pick<Outside, "clock" | "log">;
  /** Reads the configuration anew; never changes anything. */
  readonly load: () => Promise<LoadedConfig>;
  /**
   * Has the gateway go on with a configuration.
   *
   * Throws a `RangeError` when there is no room for its endpoints or keys,
   * before anything has changed.
   */
  readonly apply: (
    config: Config,
    secrets: Secrets<ApiKey> | undefined,
  ) => void;
  /** A reading that is told of begins; `ended` follows, whatever comes of it. */
  readonly begun: () => void;
  readonly ended: () => void;
}

/** A reading that waits for the one under way. */
interface Next {
  trigger: ReloadTrigger;
  readonly outcome: Promise<ReloadOutcome>;
}

/** Reloads the configuration of one gateway. */
export class Reloader {
  readonly #parts: ReloaderParts;
  #config: Config;
  #secrets: Secrets<ApiKey> | undefined;
  #running: Promise<ReloadOutcome> | undefined;
  #next: Next | undefined;
  #isStopped = false;
  #report: ReloadReport;

  constructor(parts: ReloaderParts) {
    this.#parts = parts;
    this.#config = parts.config;
    this.#secrets = parts.secrets;
    this.#report = {
      reloaded: 0,
      unchanged: 0,
      refused: 0,
      complaint: undefined,
      loadedAtMs: parts.outside.clock.nowMs(),
    };
  }

  /** The configuration in force. */
  get config(): Config {
    return this.#config;
  }

  /** What metrics and readiness show. */
  get report(): ReloadReport {
    return this.#report;
  }

  /** Reads the configuration again; never rejects. */
  reload(trigger: ReloadTrigger): Promise<ReloadOutcome> {
    if (this.#running === undefined) return this.#start(trigger);
    if (this.#next === undefined) {
      const next: Next = {
        trigger,
        outcome: this.#running.then(() => {
          this.#next = undefined;
          return this.#start(next.trigger);
        }),
      };
      this.#next = next;
    } else if (rankOf(trigger) > rankOf(this.#next.trigger)) {
      this.#next.trigger = trigger;
    }
    return this.#next.outcome;
  }

  /** Changes nothing any more: the gateway stops. */
  stop(): void {
    this.#isStopped = true;
  }

  #start(trigger: ReloadTrigger): Promise<ReloadOutcome> {
    const running = this.#run(trigger).finally(() => {
      // Whoever asks right now still comes after what waits.
      if (this.#next === undefined) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }

  async #run(trigger: ReloadTrigger): Promise<ReloadOutcome> {
    const isTold = trigger !== "file";
    if (isTold) this.#parts.begun();
    try {
      const loaded = await this.#load();
      if (this.#isStopped) return refusal(["The gateway is stopping"]);
      if (loaded.kind === "refused") {
        return this.#refuse(trigger, loaded.complaints);
      }
      return this.#take(trigger, loaded);
    } finally {
      if (isTold) this.#parts.ended();
    }
  }

  /** Reads within a limit; what hangs, or breaks, is refused. */
  async #load(): Promise<LoadedConfig> {
    const { load, outside: { clock } } = this.#parts;
    const { promise: late, resolve } = Promise.withResolvers<LoadedConfig>();
    const cancel = clock.after(LOAD_MS_MAX, () => {
      const complaint = `Cannot read the configuration in ${LOAD_MS_MAX} ms`;
      resolve({ kind: "refused", complaints: [complaint] });
    });
    try {
      return await Promise.race([load(), late]);
    } catch (error) {
      const complaint = `Cannot read the configuration: ${textOf(error)}`;
      return { kind: "refused", complaints: [complaint] };
    } finally {
      cancel();
    }
  }

  #take(
    trigger: ReloadTrigger,
    { config: wanted, secrets, warnings }: LoadedConfig & { kind: "accepted" },
  ): ReloadOutcome {
    const { apply, outside: { clock } } = this.#parts;
    const listed = this.#config.endpoints.length;
    if (listed > 0 && wanted.endpoints.length === 0) {
      const complaint = `Cannot take away all endpoints while the gateway` +
        ` runs: current value is a list of ${listed}, wanted is none, which a` +
        " restart takes";
      return this.#refuse(trigger, [complaint]);
    }
    const config = keepFixed(wanted, this.#config);
    const all = [
      ...diffConfigs(this.#config, wanted),
      ...diffSecrets(this.#secrets, secrets),
    ];
    const changes = all.filter((change) => !change.needsRestart);
    const needsRestart = all.filter((change) => change.needsRestart);
    if (changes.length > 0) {
      try {
        // Sources that cannot be used together are found out only here.
        keyPlanOf(config);
        apply(config, secrets);
      } catch (error) {
        return this.#refuse(trigger, [textOf(error)]);
      }
      this.#config = config;
      this.#secrets = secrets;
    }
    const kind = changes.length > 0 ? "reloaded" : "unchanged";
    const isNews = kind === "reloaded" || trigger !== "file" ||
      this.#report.complaint !== undefined || needsRestart.length > 0;
    this.#report = {
      ...this.#report,
      // A file that says the same as before is looked at, not reloaded.
      [kind]: this.#report[kind] + (isNews ? 1 : 0),
      complaint: undefined,
      loadedAtMs: isNews ? clock.nowMs() : this.#report.loadedAtMs,
    };
    if (isNews) this.#tell(`config.${kind}`, trigger, all, warnings);
    return {
      kind,
      changes: linesOf(changes),
      needsRestart: linesOf(needsRestart),
      complaints: [],
    };
  }

  #refuse(
    trigger: ReloadTrigger,
    complaints: readonly string[],
  ): ReloadOutcome {
    const shown = bounded(complaints);
    const complaint = shown.join("; ");
    const refused = this.#report.refused + 1;
    this.#report = { ...this.#report, refused, complaint };
    this.#parts.outside.log("error", "config.refused", {
      trigger,
      complaints: complaints.length,
      reason: complaint,
    });
    return refusal(shown);
  }

  #tell(
    event: string,
    trigger: ReloadTrigger,
    changes: readonly ConfigChange[],
    warnings: readonly string[],
  ): void {
    const { log } = this.#parts.outside;
    const pending = changes.filter((change) => change.needsRestart).length;
    const applied = changes.length - pending;
    const fields: LogFields = {
      trigger,
      changes: applied,
      "needs_restart": pending,
    };
    log("info", event, fields);
    for (const change of changes.slice(0, LINES_MAX)) {
      const { from, needsRestart, path, to } = change;
      if (needsRestart) log("warn", "config.needs_restart", { path, from, to });
      else log("info", "config.changed", { path, from, to });
    }
    for (const warning of warnings) log("warn", "config.warning", { warning });
  }
}

function rankOf(trigger: ReloadTrigger): number {
  return TRIGGERS.indexOf(trigger);
}

function refusal(complaints: readonly string[]): ReloadOutcome {
  return { kind: "refused", changes: [], needsRestart: [], complaints };
}

function linesOf(changes: readonly ConfigChange[]): readonly string[] {
  return bounded(
    changes.map(({ from, path, to }) => `${path}: ${from} -> ${to}`),
  );
}

/** At most so many lines, and how many more there are. */
function bounded(lines: readonly string[]): readonly string[] {
  if (lines.length <= LINES_MAX) return lines;
  const rest = lines.length - LINES_MAX;
  return [...lines.slice(0, LINES_MAX), `and ${rest} more`];
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
