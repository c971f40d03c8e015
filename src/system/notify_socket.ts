/**
 * The socket on which a service manager hears how the process is doing:
 * systemd's notification protocol, sd_notify(3).
 *
 * Sending needs a socket of one's own. It is bound to a path in a new folder
 * for temporary files, as Deno 2.7 knows no unnamed or abstract sockets, and
 * the path is removed at once: a bound socket sends without it, and nothing is
 * left behind however the process ends.
 *
 * Invariant: telling never waits, throws or stops the gateway. Messages leave
 * one after the other in their order, and what cannot be told is logged once.
 *
 * @module
 */
import type { Clock, Log } from "../core/outside.ts";

/**
 * Messages that wait for a service manager that does not read. It is told a
 * few in a minute, so one that is so far behind has no use for more.
 */
const QUEUE_MAX = 16;

/** Milliseconds that closing waits for messages on their way. */
const CLOSE_MS_MAX = 500;

/** Microseconds in a second. */
const US_PER_S = 1_000_000;

/** Longer timers of the runtime fire at once: 2^31 - 1 ms, or 25 days. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Longest status in characters: one line of a terminal, generously. */
const STATUS_CHARACTERS_MAX = 256;

/** What a socket is made of. */
export interface NotifyParts {
  readonly clock: Clock;
  readonly log: Log;
}

/** Tells the service manager; every method returns at once. */
export class NotifySocket {
  readonly #socket: Deno.DatagramConn;
  readonly #manager: Deno.UnixAddr;
  readonly #parts: NotifyParts;
  readonly #queue: string[] = [];
  #sending: Promise<void> | undefined;
  #hasFailed = false;
  #isClosed = false;

  /**
   * Opens a socket to the address that systemd gives in `NOTIFY_SOCKET`: a
   * path, or the name of an abstract socket after an `@`.
   *
   * @throws {Error} when the address is of another kind, or no socket can be
   * bound.
   */
  constructor(address: string, parts: NotifyParts) {
    const path = address.startsWith("@") ? `\0${address.slice(1)}` : address;
    if (!/^[/\0]./.test(path)) {
      throw new Error(
        `Cannot notify "${address}": want a path or an abstract socket`,
      );
    }
    this.#parts = parts;
    this.#manager = { transport: "unixpacket", path };
    this.#socket = bindUnnamed();
  }

  /** Start-up, or a reload, is over. */
  ready(status: string): void {
    this.#post(`READY=1\n${statusLine(status)}`);
  }

  /** One line for people, as `systemctl status` shows it. */
  status(status: string): void {
    this.#post(statusLine(status));
  }

  /** A reload begins; `ready` has to follow. */
  reloading(status: string): void {
    // The manager compares this with the time at which it asked, and takes no
    // earlier one for an answer. Deno tells the time since the machine was
    // started in seconds, rounded up, which is never earlier.
    const us = Deno.osUptime() * US_PER_S;
    this.#post(`RELOADING=1\nMONOTONIC_USEC=${us}\n${statusLine(status)}`);
  }

  /** The process is about to end. */
  stopping(status: string): void {
    this.#post(`STOPPING=1\n${statusLine(status)}`);
  }

  /** A sign of life, due within the time of `WATCHDOG_USEC`. */
  alive(): void {
    this.#post("WATCHDOG=1");
  }

  /** Sends what waits, for half a second at most, and closes. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const cancel = this.#parts.clock.after(CLOSE_MS_MAX, resolve);
    await Promise.race([this.#sending, over]);
    cancel();
    this.#queue.length = 0;
    this.#socket.close();
  }

  #post(message: string): void {
    if (this.#isClosed) return;
    if (this.#queue.length >= QUEUE_MAX) {
      this.#fail("it reads nothing");
      return;
    }
    this.#queue.push(message);
    this.#sending ??= this.#sendAll();
  }

  /** One at a time: the runtime refuses a second beside the first. */
  async #sendAll(): Promise<void> {
    const encoder = new TextEncoder();
    let message: string | undefined;
    while ((message = this.#queue.shift()) !== undefined) {
      try {
        await this.#socket.send(encoder.encode(message), this.#manager);
      } catch (error) {
        this.#fail(reasonOf(error));
      }
    }
    this.#sending = undefined;
  }

  #fail(reason: string): void {
    if (!this.#hasFailed) logUnreachable(this.#parts.log, reason);
    this.#hasFailed = true;
  }
}

/** Opens a socket; `undefined` where it cannot, after saying so in the log. */
export function openNotifySocket(
  address: string,
  parts: NotifyParts,
): NotifySocket | undefined {
  try {
    return new NotifySocket(address, parts);
  } catch (error) {
    logUnreachable(parts.log, reasonOf(error));
    return undefined;
  }
}

/**
 * How often to give a sign of life, in milliseconds: at half the time after
 * which the manager takes the process for dead, as sd_watchdog_enabled(3)
 * advises.
 *
 * @param env `WATCHDOG_USEC` and `WATCHDOG_PID`, as far as they are set.
 * @returns `undefined` when the manager does not watch this process.
 */
export function watchdogIntervalMs(
  env: {
    readonly usec: string | undefined;
    readonly pid: string | undefined;
  },
  ownPid: number,
): number | undefined {
  if (env.pid !== undefined && Number(env.pid) !== ownPid) return undefined;
  const usec = /^\d+$/.test(env.usec ?? "") ? Number(env.usec) : 0;
  const ms = Math.floor(usec / 2_000);
  return ms >= 1 && ms <= TIMER_MS_MAX ? ms : undefined;
}

function bindUnnamed(): Deno.DatagramConn {
  const folder = Deno.makeTempDirSync({ prefix: "tryst_" });
  try {
    const path = `${folder}/notify`;
    return Deno.listenDatagram({ transport: "unixpacket", path });
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** A status that holds a line break would end in a field of its own. */
function statusLine(status: string): string {
  const line = status.replace(/\s+/g, " ");
  return `STATUS=${line.slice(0, STATUS_CHARACTERS_MAX)}`;
}

function logUnreachable(log: Log, reason: string): void {
  log("warn", "service_manager.unreachable", { reason });
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
