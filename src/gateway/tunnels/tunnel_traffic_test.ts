/**
 * What was opened and not closed is what is open, deaths of workers included.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { CounterLayout } from "../../core/counting/counters.ts";
import { TUNNEL_FAMILIES, TunnelTraffic } from "./tunnel_traffic.ts";

test("TunnelTraffic closes what a dead worker had open", () => {
  const layout = new CounterLayout(TUNNEL_FAMILIES);
  const row = new Float64Array(layout.cellCount);
  const read = (name: string, value = "") => row[layout.cell(name, value)];
  const first = new TunnelTraffic(layout, row);
  for (let i = 0; i < 3; i++) first.opened();
  first.closed("client");
  new TunnelTraffic(layout, row);
  new TunnelTraffic(layout, row);
  assertEquals(read("tryst_tunnels_opened_total"), 3);
  assertEquals(read("tryst_tunnels_closed_total", "client"), 1);
  assertEquals(read("tryst_tunnels_closed_total", "worker_died"), 2);
});
