/**
 * Drains and restores endpoints, and remembers over a restart what is drained:
 * whoever took an endpoint out of use does not want it back because the
 * gateway was upgraded.
 *
 * Invariant: nothing here fails the gateway. A file that cannot be read or
 * written is told in the log, and drains hold until the end of the process.
 *
 * @module
 */
import { ENDPOINTS_MAX } from "../core/endpoints/endpoint_table.ts";
import type { Log } from "../core/outside.ts";
import type { DrainFile } from "../stores/drain_file.ts";
import type { Control } from "./control.ts";

/** What a keeper is made of. */
export interface DrainKeeperParts {
  readonly control: Control;
  readonly log: Log;
  /** `undefined` remembers nothing. */
  readonly file: DrainFile | undefined;
}

/** Keeps the drains of one gateway. */
export class DrainKeeper {
  readonly #parts: DrainKeeperParts;
  /** Those not listed are kept too: they may come back. */
  readonly #ids = new Set<string>();
  #writing: Promise<void> = Promise.resolve();
  #isWaiting = false;

  constructor(parts: DrainKeeperParts) {
    this.#parts = parts;
  }

  /** Drains what was drained before, once the control side has its list. */
  async start(): Promise<void> {
    const { control, file, log } = this.#parts;
    if (file === undefined) return;
    try {
      for (const id of (await file.read()).slice(0, ENDPOINTS_MAX)) {
        this.#ids.add(id);
        control.drain(id);
      }
    } catch (error) {
      log("error", "drains.refused", { file: file.path, reason: `${error}` });
    }
  }

  /** As `Control.drain`. */
  drain(id: string): boolean {
    const isListed = this.#parts.control.drain(id);
    if (isListed && !this.#ids.has(id)) {
      this.#ids.add(id);
      for (const oldest of this.#ids) {
        if (this.#ids.size > ENDPOINTS_MAX) this.#ids.delete(oldest);
      }
      this.#save();
    }
    return isListed;
  }

  /** As `Control.restore`. */
  restore(id: string): boolean {
    const isListed = this.#parts.control.restore(id);
    if (this.#ids.delete(id)) this.#save();
    return isListed;
  }

  /** Resolves once everything is written, or has failed to be. */
  stop(): Promise<void> {
    return this.#writing;
  }

  /** Writes after the write under way, and once for all changes till then. */
  #save(): void {
    if (this.#parts.file === undefined || this.#isWaiting) return;
    this.#isWaiting = true;
    this.#writing = this.#writing.then(() => this.#write());
  }

  async #write(): Promise<void> {
    const { file, log } = this.#parts;
    this.#isWaiting = false;
    try {
      await file?.write([...this.#ids]);
    } catch (error) {
      log("error", "drains.save_failed", {
        file: file?.path,
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  }
}
