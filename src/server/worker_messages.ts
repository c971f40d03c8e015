/**
 * The messages between the main thread and a worker thread: all there are.
 *
 * | From the main thread | When | The worker |
 * | --- | --- | --- |
 * | `start` | once, first | attaches to the shared memory and listens |
 * | `routes` | the list of endpoints or models has changed | replaces its own |
 * | `reload` | the configuration has changed | takes it, with its routes |
 * | `watch` | somebody looks | tells of its requests for some seconds |
 * | `leave` | once, before `stop` | has answers end their connections |
 * | `stop` | once | listens no more and finishes its requests |
 * | `give_up` | once, last | answers whatever has not finished with an error |
 *
 * | From a worker | When | The main thread |
 * | --- | --- | --- |
 * | `listening` | its socket is open | counts it as serving |
 * | `failed` | it cannot listen | gives up, or tries again later |
 * | `alive` | every `HEARTBEAT_MS` | knows that its event loop turns |
 * | `log` | something happened | writes the line |
 * | `lines` | lines have gathered | writes them, and counts that it did |
 * | `live` | it is watched | shows the requests under way |
 * | `stopped` | after `stop`, its last answer has been sent | ends the thread |
 *
 * A thread that dies sends nothing: the runtime reports an error instead, and
 * one that hangs is known by the lack of `alive`. Everything else that threads
 * must know of each other is in shared memory, where nobody waits for a turn:
 * sessions, states and places of endpoints, budgets, ledgers and counters.
 *
 * Invariant: messages are plain data, none is an answer to another, and
 * nothing on the way of a request waits for one.
 *
 * @module
 */
import type { LogFields, LogLevel } from "../core/outside.ts";
import type { LiveCall } from "../gateway/live_calls.ts";

/** Milliseconds between two signs of life; each costs a few microseconds. */
export const HEARTBEAT_MS = 1_000;

/** What the main thread tells a worker. */
export type WorkerCommand<Start, Routes> =
  | {
    readonly kind: "start";
    readonly index: number;
    /** The port to listen on; 0 for the first to choose any. */
    readonly port: number;
    readonly start: Start;
    readonly routes: Routes;
  }
  | { readonly kind: "routes"; readonly routes: Routes }
  | {
    readonly kind: "reload";
    /** What a worker that is started now would get. */
    readonly start: Start;
    readonly routes: Routes;
  }
  | { readonly kind: "watch" }
  | { readonly kind: "leave" }
  /** The deadline is kept by the main thread, which can end threads. */
  | { readonly kind: "stop" }
  | { readonly kind: "give_up" };

/** What a worker tells the main thread. */
export type WorkerReport =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "alive" }
  | {
    readonly kind: "stopped";
    /** Requests that stopping has broken. */
    readonly brokenCount: number;
  }
  | {
    readonly kind: "log";
    readonly level: LogLevel;
    readonly event: string;
    readonly fields: LogFields;
  }
  /** Whole lines, as they are to be written. */
  | { readonly kind: "lines"; readonly lines: string }
  | {
    readonly kind: "live";
    /** The oldest under way; few enough to be posted each second. */
    readonly calls: readonly LiveCall[];
  };
