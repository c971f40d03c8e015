/**
 * A tunnel whose client's side never opens, or opens too late.
 *
 * What happens between open sides is tested over real sockets.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { MemorySocket, VirtualClock } from "../../../tests/memory_sockets.ts";
import { CounterLayout } from "../../core/counting/counters.ts";
import { Tunnel } from "./tunnel.ts";
import { TUNNEL_FAMILIES, TunnelTraffic } from "./tunnel_traffic.ts";
import type { Close } from "./websocket_close.ts";

/** A tunnel that waits for its client. */
function waitingTunnel() {
  const clock = new VirtualClock();
  const socket = new MemorySocket([]);
  const ends: string[] = [];
  const closes: (Close | undefined)[] = [];
  const layout = new CounterLayout(TUNNEL_FAMILIES);
  const row = new Float64Array(layout.cellCount);
  const tunnel = new Tunnel(socket, {
    clock,
    random: () => 0,
    traffic: new TunnelTraffic(layout, row),
    protocol: undefined,
    onEnd: ({ kind }, cause) => ends.push(`${kind} ${cause}`),
  });
  const client = {
    bufferedBytes: 0,
    send: () => {},
    close: (close: Close) => closes.push(close),
  };
  return { clock, socket, ends, closes, tunnel, client };
}

test("a client that never opens its side gives the engine's back", async () => {
  const { clock, socket, ends, tunnel, client, closes } = waitingTunnel();
  tunnel.join(client);
  await clock.advance(4_999);
  assertEquals([ends, socket.isClosed], [[], false]);
  await clock.advance(1);
  assertEquals([ends, socket.isClosed], [["client_gone client_gone"], true]);
  assertEquals(clock.timerCount, 0);
  // One that opens after all is told that nobody is there.
  tunnel.onOpen();
  tunnel.onMessage("late");
  tunnel.onClose(undefined);
  assertEquals(closes, [{ code: 1001, reason: "" }]);
  assertEquals(ends.length, 1);
});

test("a tunnel that nobody joined ends all the same", async () => {
  const { clock, ends } = waitingTunnel();
  await clock.advance(5_000);
  assertEquals(ends, ["client_gone client_gone"]);
});

test("a client that opens while the gateway stops is told so", async () => {
  const { clock, ends, tunnel, client, closes, socket } = waitingTunnel();
  tunnel.stop();
  tunnel.join(client);
  assertEquals([closes, ends], [[], []]);
  tunnel.onOpen();
  assertEquals(closes, [{ code: 1001, reason: "" }]);
  socket.push(Uint8Array.of(0x88, 0));
  await clock.advance(0);
  assertEquals(ends, ["complete stopped"]);
  assertEquals(clock.timerCount, 0);
});

test("cut() ends a tunnel in every state", async () => {
  const { clock, ends, tunnel, socket } = waitingTunnel();
  tunnel.cut();
  tunnel.cut();
  await clock.advance(0);
  assertEquals([ends, socket.isClosed], [["complete stopped"], true]);
  assertEquals(clock.timerCount, 0);
});
