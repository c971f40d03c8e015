/**
 * The gauge of open tunnels, which is what was opened and not closed.
 *
 * Invariant: it counts over all workers, dead ones included: whoever replaces
 * a dead worker closes its tunnels in the books.
 *
 * @module
 */
import { Gauge, type Registry } from "prom-client";
import type { Counters } from "../../core/counting/counters.ts";

/** Puts the gauge on the page. */
export function registerTunnels(
  counters: Counters,
  registers: Registry[],
): void {
  new Gauge({
    name: "tryst_tunnels",
    help: "WebSocket tunnels that are open.",
    registers,
    collect() {
      const opened = total(counters, "tryst_tunnels_opened_total");
      this.set(opened - total(counters, "tryst_tunnels_closed_total"));
    },
  });
}

/** The sum of a family's cells over all workers. */
function total(counters: Counters, name: string): number {
  const { layout } = counters;
  const offset = layout.offset(name);
  const family = layout.families.find((family) => family.name === name);
  const values = family?.values ?? [];
  return values.reduce(
    (sum, _, index) => sum + counters.sum(offset + index),
    0,
  );
}
