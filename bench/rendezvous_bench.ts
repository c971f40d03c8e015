/**
 * What ranking costs: rendezvous by itself, and every policy of the register.
 *
 * Run with `deno bench -A bench/rendezvous_bench.ts`. Wanted: the first choice
 * under 250 ns at 8 endpoints, under 2.5 us at 64.
 *
 * Invariant: keys change from one iteration to the next, as in traffic, so
 * that no branch is learned by heart.
 *
 * @module
 */
import { hashBytes, type KeyHash } from "../src/core/hash.ts";
import { rankByRendezvous } from "../src/core/placement/rendezvous.ts";
import type { Candidates } from "../src/core/routing_policy.ts";
import * as policies from "../src/policies/mod.ts";

/** A power of two, and enough to defeat branch prediction. */
const KEYS = 4_096;

const keys: KeyHash[] = Array.from(
  { length: KEYS },
  (_, index) => hashBytes(new TextEncoder().encode(`session-${index}`)),
);
let turn = 0;

function nextKey(): KeyHash {
  turn = (turn + 1) & (KEYS - 1);
  return keys[turn] ?? { a: 0, b: 0 };
}

function candidatesOf(count: number, isWeighted: boolean): Candidates {
  const hashes = new Int32Array(2 * count);
  for (let index = 0; index < count; index++) {
    const id = `http://127.0.0.1:${8000 + index}`;
    const { a, b } = hashBytes(new TextEncoder().encode(id));
    hashes.set([a, b], 2 * index);
  }
  const weights = Float64Array.from(
    hashes.subarray(count),
    (_, index) => isWeighted ? 1 + index % 3 : 1,
  );
  return { count, hashes, weights, inFlight: (index) => index & 3 };
}

for (const count of [8, 64, 256]) {
  for (const isWeighted of [false, true]) {
    const candidates = candidatesOf(count, isWeighted);
    Deno.bench({
      name: `first of ${count}, ${isWeighted ? "unlike" : "equal"} weights`,
      group: "rendezvous",
      fn() {
        rankByRendezvous(nextKey(), candidates).next();
      },
    });
  }
}

for (const plugin of Object.values(policies)) {
  for (const count of [8, 64]) {
    const policy = plugin.create({ random: Math.random });
    const candidates = candidatesOf(count, false);
    Deno.bench({
      name: `${plugin.name}, first of ${count}`,
      group: "policies",
      baseline: plugin.name === "rendezvous" && count === 8,
      fn() {
        policy.rank({ key: nextKey() }, candidates).next();
      },
    });
  }
}
