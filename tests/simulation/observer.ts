/**
 * Looks at a world from outside and notes what has changed.
 *
 * Invariant: it changes nothing, and it looks before every event and after
 * every step, so that a cause stands in the log before its effect.
 *
 * @module
 */
import type { EventLog } from "./events.ts";
import type { Flow } from "./flow.ts";
import type { GatewayGroup } from "./gateways.ts";

/** A client whose bytes are watched. */
export interface WatchedClient {
  readonly pulledBytes: number;
  readonly receivedBytes: number;
}

/**
 * Bytes of a request that may be between client and engine: a body that is
 * taken whole, or the sniff window with a piece, a piece in hand and a socket
 * buffer: 64 KiB either way.
 */
const REQUEST_BYTES_MAX = 65_536;

/**
 * Bytes of an answer that may be between engine and client: two pieces, a
 * socket buffer and the upstream client's read buffer.
 */
const ANSWER_BYTES_MAX = 2 * 20_100 + 16_384 + 65_536;

/** What is observed. */
export interface ObserverParts {
  readonly log: EventLog;
  readonly groups: readonly GatewayGroup[];
  readonly flow: Flow;
  /** Records of each session table. */
  readonly capacity: number;
  /** Most requests at once in each group. */
  readonly requestsMax: number;
}

/** Observes one world. */
export class Observer {
  readonly #parts: ObserverParts;
  /** What was last noted, by name. */
  readonly #noted = new Map<string, string>();
  readonly #highest = new Map<string, number>();
  readonly #clients = new Map<string, WatchedClient>();

  constructor(parts: ObserverParts) {
    this.#parts = parts;
  }

  watch(request: string, client: WatchedClient): void {
    this.#clients.set(request, client);
  }

  unwatch(request: string): void {
    this.#clients.delete(request);
  }

  look(): void {
    const { flow, groups } = this.#parts;
    groups.forEach((group, table) => this.#lookAt(group, table));
    for (const [id, { pulledBytes, receivedBytes }] of this.#clients) {
      const { readBytes, sentBytes } = flow.of(id);
      const inRequest = pulledBytes - readBytes;
      this.#gauge("bytes within a request", inRequest, REQUEST_BYTES_MAX);
      const inAnswer = sentBytes - receivedBytes;
      this.#gauge("bytes within an answer", inAnswer, ANSWER_BYTES_MAX);
    }
  }

  /** Notes what is left when everything should be over. */
  finish(playing: number, openAtEngines: number): void {
    this.#left("requests without an end", playing);
    this.#left("connections open at engines", openAtEngines);
    this.#parts.groups.forEach((group, table) => {
      for (const { id, inFlight } of group.sights()) {
        this.#left(`in flight of ${id} in table ${table}`, inFlight);
      }
      const { pins, requests, sniffBytes, received, ended } = group.held();
      this.#left(`session pins of table ${table}`, pins);
      this.#left(`requests counted in table ${table}`, requests);
      this.#left(`sniff memory of table ${table}`, sniffBytes);
      this.#left(`requests ended in table ${table}`, ended, received);
      for (const gateway of group.gateways) {
        this.#left(`ledger of table ${table}`, gateway.ledgerCount());
        for (const [name, value] of Object.entries(gateway.counts())) {
          this.#left(`${name} of a gateway of table ${table}`, value);
        }
      }
    });
  }

  #left(name: string, value: number, wanted = 0): void {
    this.#parts.log.add({ kind: "left", name, value, wanted });
  }

  #lookAt(group: GatewayGroup, table: number): void {
    const { capacity, log, requestsMax } = this.#parts;
    this.#gauge("requests of a group", group.requestCount(), requestsMax);
    for (const sight of group.sights()) {
      const { id: endpoint, state, inFlight, limit } = sight;
      if (this.#isNew(`state ${table} ${endpoint}`, state)) {
        log.add({ kind: "state", table, endpoint, state });
      }
      const isFull = sight.isBusy || (limit > 0 && inFlight >= limit);
      if (this.#isNew(`full ${table} ${endpoint}`, String(isFull))) {
        log.add({ kind: "full", table, endpoint, isFull });
      }
      if (limit > 0) this.#gauge("in flight of an endpoint", inFlight, limit);
    }
    const { occupied, evictions } = group.sessions();
    this.#gauge("sessions of a table", occupied, capacity);
    if (this.#isNew(`evictions ${table}`, String(evictions))) {
      log.add({ kind: "evictions", table, count: evictions });
    }
    for (const gateway of group.gateways) {
      const { open, idle, exchanges, placed } = gateway.counts();
      this.#gauge("connections without a request", open - idle - exchanges, 0);
      this.#gauge("exchanges without a place", exchanges - placed, 0);
    }
  }

  #isNew(name: string, value: string): boolean {
    if (this.#noted.get(name) === value) return false;
    this.#noted.set(name, value);
    return true;
  }

  /** Notes a value that is higher than before, or above what it may be. */
  #gauge(name: string, value: number, max: number): void {
    const highest = this.#highest.get(name) ?? -1;
    if (value <= highest && value <= max) return;
    this.#highest.set(name, Math.max(value, highest));
    this.#parts.log.add({ kind: "gauge", name, value, max });
  }
}
