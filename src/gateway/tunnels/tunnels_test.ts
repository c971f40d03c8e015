/**
 * All tunnels end with their gateway, those that nobody has joined included.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { MemorySocket, VirtualClock } from "../../../tests/memory_sockets.ts";
import { CounterLayout } from "../../core/counting/counters.ts";
import { TUNNEL_FAMILIES, TunnelTraffic } from "./tunnel_traffic.ts";
import { Tunnels } from "./tunnels.ts";

test("Tunnels.close() ends every tunnel once and leaves no timer", () => {
  const clock = new VirtualClock();
  const layout = new CounterLayout(TUNNEL_FAMILIES);
  const traffic = new TunnelTraffic(
    layout,
    new Float64Array(layout.cellCount),
  );
  const tunnels = new Tunnels({ clock, random: () => 0, traffic });
  const causes: string[] = [];
  const sockets = [new MemorySocket([]), new MemorySocket([])];
  for (const socket of sockets) {
    tunnels.open(socket, {
      protocol: undefined,
      onEnd: (_end, cause) => causes.push(cause),
    });
  }
  tunnels.stop();
  assertEquals(causes, []);
  tunnels.close();
  tunnels.close();
  assertEquals(causes, ["stopped", "stopped"]);
  assertEquals(sockets.map(({ isClosed }) => isClosed), [true, true]);
  assertEquals(clock.timerCount, 0);
});
