/**
 * What the service manager is told of a gateway: that it is ready, reloads or
 * stops, one line on how it is doing, and signs of life.
 *
 * A sign of life comes from the main thread and stands for the workers too:
 * while one of them hangs there is none. The gateway then stops by itself,
 * and should that fail, the manager ends it.
 *
 * Invariant: without a service manager nothing is done, not even a timer set,
 * and nothing follows on stopping but signs of life and the status.
 *
 * @module
 */
import type { Clock, Log } from "../core/outside.ts";
import {
  type NotifySocket,
  openNotifySocket,
  watchdogIntervalMs,
} from "../system/notify_socket.ts";
import type { Edge } from "./edge.ts";
import { SERVICE_VARIABLES } from "./service_variables.ts";

/**
 * Milliseconds between two looks at the status, which is sent when it has
 * changed: often enough for who looks at it, and no load on the manager.
 */
const STATUS_MS = 3_000;

/** What reports are made of. */
export interface ServiceParts {
  readonly edge: Pick<Edge, "env">;
  readonly clock: Clock;
  readonly log: Log;
  /** Of the process, which the manager may watch or not. */
  readonly pid: number;
  /** How many endpoints are ready, of how many, and what is in flight. */
  readonly facts: () => ServiceFacts;
  /** False while a worker hangs. */
  readonly isAlive: () => boolean;
}

/** What the status tells. */
export interface ServiceFacts {
  readonly eligible: number;
  readonly total: number;
  readonly inFlight: number;
}

/** What the gateway is doing, in the words of its status. */
type Doing = "Ready" | "Reloading" | "Stopping";

/** Reports on one gateway to the manager that started it, if one did. */
export class ServiceReports {
  readonly #parts: ServiceParts;
  readonly #socket: NotifySocket | undefined;
  readonly #watchdogMs: number | undefined;
  #doing: Doing | undefined;
  #told = "";
  #cancelStatus: () => void = () => {};
  #cancelAlive: () => void = () => {};

  constructor(parts: ServiceParts) {
    const { edge } = parts;
    this.#parts = parts;
    const address = edge.env(SERVICE_VARIABLES.notifySocket.name);
    if (address === undefined || address === "") return;
    this.#socket = openNotifySocket(address, parts);
    this.#watchdogMs = watchdogIntervalMs({
      usec: edge.env(SERVICE_VARIABLES.watchdogUsec.name),
      pid: edge.env(SERVICE_VARIABLES.watchdogPid.name),
    }, parts.pid);
  }

  /** The gateway serves: it has started, or a reload is over. */
  ready(): void {
    if (this.#doing === "Stopping") return;
    const isFirst = this.#doing === undefined;
    this.#socket?.ready(this.#statusOf("Ready"));
    if (isFirst && this.#socket !== undefined) {
      this.#tickStatus();
      this.#tickAlive();
    }
  }

  /** A reload begins; `ready` has to follow, also when it was refused. */
  reloading(): void {
    if (this.#doing === "Stopping") return;
    this.#socket?.reloading(this.#statusOf("Reloading"));
  }

  /** The gateway is about to end; signs of life go on until it has. */
  stopping(): void {
    this.#socket?.stopping(this.#statusOf("Stopping"));
  }

  /** Why the gateway could not start. */
  failed(reason: string): void {
    this.#socket?.status(reason);
  }

  /** Tells what is left to tell, for half a second at most. */
  async close(): Promise<void> {
    this.#cancelStatus();
    this.#cancelAlive();
    await this.#socket?.close();
  }

  #statusOf(doing: Doing): string {
    this.#doing = doing;
    this.#told = statusText(doing, this.#parts.facts());
    return this.#told;
  }

  #tickStatus(): void {
    this.#cancelStatus = this.#parts.clock.after(STATUS_MS, () => {
      this.#tickStatus();
      const told = this.#told;
      const text = this.#statusOf(this.#doing ?? "Ready");
      if (text !== told) this.#socket?.status(text);
    });
  }

  #tickAlive(): void {
    if (this.#watchdogMs === undefined) return;
    if (this.#parts.isAlive()) this.#socket?.alive();
    this.#cancelAlive = this.#parts.clock.after(
      this.#watchdogMs,
      () => this.#tickAlive(),
    );
  }
}

function statusText(
  doing: Doing,
  { eligible, inFlight, total }: ServiceFacts,
): string {
  const requests = `${inFlight} request${inFlight === 1 ? "" : "s"} in flight`;
  return `${doing}: ${eligible} of ${total} endpoints ready, ${requests}`;
}
