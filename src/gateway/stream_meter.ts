/**
 * Counts an answer that streams, piece by piece.
 *
 * Invariant: the clock is read once a piece, and nothing is allocated.
 *
 * @module
 */
import type { Clock } from "../core/outside.ts";
import type { Call } from "./call.ts";
import type { Traffic } from "./traffic.ts";

/** What a meter counts with. */
export interface StreamMeterParts {
  readonly clock: Clock;
  readonly traffic: Traffic;
  /** Called with the time of the first piece. */
  readonly onFirst: (nowMs: number) => void;
}

/** The meter of one answer. */
export class StreamMeter {
  readonly #call: Call<"relay">;
  readonly #parts: StreamMeterParts;
  /** When the last piece came; negative before the first. */
  #lastMs = -1;

  constructor(call: Call<"relay">, parts: StreamMeterParts) {
    this.#call = call;
    this.#parts = parts;
  }

  /** A piece has come, and is handed on. */
  count(byteCount: number): void {
    const { clock, traffic } = this.#parts;
    const call = this.#call;
    const { acceptedAtMs, placed } = call;
    const nowMs = clock.nowMs();
    if (this.#lastMs < 0) {
      call.firstByteAtMs = nowMs;
      traffic.firstByte(placed, acceptedAtMs, nowMs);
      this.#parts.onFirst(nowMs);
    } else traffic.times.chunkGap(nowMs - this.#lastMs);
    this.#lastMs = nowMs;
    call.bytesOut += byteCount;
    traffic.relayed(placed, byteCount);
  }
}
