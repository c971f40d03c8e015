/**
 * When and from where a running gateway reads its configuration again: at
 * SIGHUP, when its file or one of its secrets says something else, and when
 * the admin API asks.
 *
 * Invariant: it is read as at the start, by the same code and with the same
 * flags and variables, which still win over the file.
 *
 * @module
 */
import {
  registerReloads,
  type ReloadOutcome,
} from "../admin/reload_outcome.ts";
import type { Config } from "../config/config.ts";
import type { ApiKey } from "../core/api_key.ts";
import type { Outside } from "../core/outside.ts";
import type { RoutesData } from "../gateway/routes.ts";
import type { Supervisor } from "../server/supervisor.ts";
import { isRegularFile } from "../system/file_watch.ts";
import { onSignal } from "../system/signals.ts";
import type { Control } from "../wiring/control.ts";
import {
  type LoadedConfig,
  Reloader,
  type ReloadTrigger,
} from "../wiring/reload.ts";
import type { Secrets } from "../wiring/secrets.ts";
import type { WorkerStart } from "../wiring/worker.ts";
import type { ParsedArgs } from "./args.ts";
import type { Edge } from "./edge.ts";
import { configPath, loadConfig } from "./load_config.ts";
import { LOAD_NAMES } from "./load_names.ts";
import { readSecrets } from "./secret_files.ts";
import type { ServiceReports } from "./service_reports.ts";
import { secretPaths, WatchedFiles } from "./watched_files.ts";

/** Where a configuration comes from. */
export interface ConfigSource {
  /** The file, if there is one. */
  readonly path: string | undefined;
  /** Reads all of it anew. */
  readonly load: () => Promise<LoadedConfig>;
  /**
   * The files that the last reading named, of use or not: one that was missing
   * or wrong may be mended.
   */
  readonly named: () => readonly string[];
}

/** What a gateway is reloaded with. */
export interface ReloadingParts {
  readonly config: Config;
  readonly secrets: Secrets<ApiKey> | undefined;
  /** `undefined` where it never changes. */
  readonly source: ConfigSource | undefined;
  readonly outside: Outside;
  readonly control: Control;
  readonly supervisor: Supervisor<WorkerStart, RoutesData>;
  /** What a worker is told of a configuration. */
  readonly startOf: (
    config: Config,
    secrets: Secrets<ApiKey> | undefined,
  ) => WorkerStart;
  readonly service: ServiceReports;
}

/** The source that the arguments of a command and its environment name. */
export function configSource(args: ParsedArgs, edge: Edge): ConfigSource {
  const path = configPath(args, edge);
  const own = path === undefined ? [] : [path];
  let named: readonly string[] = [];
  return {
    path,
    named: () => [...own, ...named],
    async load() {
      if (path !== undefined && await isRegularFile(path) === false) {
        const reason = "it is no regular file, and can be read only once";
        const complaint = `Cannot read configuration file "${path}": ${reason}`;
        return { kind: "refused", complaints: [complaint] };
      }
      const lines: string[] = [];
      const err = (text: string) => lines.push(...text.split("\n"));
      const config = await loadConfig(args, {
        edge: { ...edge, err },
        names: LOAD_NAMES,
        isReload: true,
      });
      if (config === undefined) return { kind: "refused", complaints: lines };
      named = secretPaths(config);
      try {
        const secrets = await readSecrets(config, edge);
        return { kind: "accepted", config, warnings: lines, secrets };
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        return { kind: "refused", complaints: [reason] };
      }
    },
  };
}

/** Reloads a gateway; until it is started, what is asked for waits. */
export class Reloading {
  readonly reloader: Reloader;
  readonly #parts: ReloadingParts;
  readonly #endSignal: () => void;
  readonly #files: WatchedFiles;
  readonly #started = Promise.withResolvers<void>();
  #isStopped = false;

  /** From now on SIGHUP does not end the process. */
  constructor(parts: ReloadingParts) {
    const { config, control, secrets, service, source, supervisor } = parts;
    this.#parts = parts;
    this.reloader = new Reloader({
      config,
      secrets,
      outside: parts.outside,
      load: source?.load ??
        (() => Promise.resolve({ ...parts, kind: "accepted", warnings: [] })),
      apply(config, secrets) {
        const start = parts.startOf(config, secrets);
        const routes = control.reload(config, secrets?.credentials);
        supervisor.reload(start, routes);
      },
      begun: () => service.reloading(),
      ended: () => service.ready(),
    });
    this.#files = new WatchedFiles({
      clock: parts.outside.clock,
      changed: () => this.#reload("file"),
    });
    registerReloads(() => this.reloader.report, [control.metrics]);
    this.#endSignal = onSignal("SIGHUP", () => this.reload("signal"));
  }

  /** Reads the configuration again, once the gateway serves; never rejects. */
  async reload(trigger: ReloadTrigger): Promise<ReloadOutcome> {
    await this.#started.promise;
    return await this.#reload(trigger);
  }

  /** The gateway serves: it can go on with another configuration. */
  start(): void {
    const { config, source } = this.#parts;
    this.#started.resolve();
    if (source === undefined) return;
    const own = source.path === undefined ? [] : [source.path];
    this.#files.watch([...own, ...secretPaths(config)]);
  }

  /** The gateway stops: nothing changes any more. */
  stop(): void {
    this.reloader.stop();
    this.#isStopped = true;
    this.#files.close();
  }

  /** After that SIGHUP ends the process. */
  close(): void {
    this.stop();
    this.#endSignal();
  }

  async #reload(trigger: ReloadTrigger): Promise<ReloadOutcome> {
    const outcome = await this.reloader.reload(trigger);
    const { source } = this.#parts;
    // Other files may be named now.
    if (source !== undefined && !this.#isStopped) {
      const { config } = this.reloader;
      this.#files.watch([...source.named(), ...secretPaths(config)]);
    }
    return outcome;
  }
}
