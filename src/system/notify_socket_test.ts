/**
 * Tests of what a service manager hears, over real sockets.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { NotifyReceiver } from "../../tests/admin/notify_receiver.ts";
import { test } from "../../tests/leakproof.ts";
import { systemClock } from "./clock.ts";
import {
  type NotifySocket,
  openNotifySocket,
  watchdogIntervalMs,
} from "./notify_socket.ts";

/** A log that keeps its events. */
function keptLog() {
  const events: string[] = [];
  return {
    events,
    parts: {
      clock: systemClock,
      log: (_level: string, event: string, fields = {}) => {
        events.push(`${event} ${JSON.stringify(fields)}`);
      },
    },
  };
}

function opened(address: string, parts = keptLog().parts): NotifySocket {
  const socket = openNotifySocket(address, parts);
  assert(socket !== undefined, `it cannot be opened to ${address}`);
  return socket;
}

test("openNotifySocket() logs what it cannot reach and does without", () => {
  for (const address of ["", "@", "/", "notify", "vsock:2:1234"]) {
    const { events, parts } = keptLog();
    assertEquals(openNotifySocket(address, parts), undefined, address);
    assertEquals(events.length, 1, address);
    assertMatch(events[0] ?? "", /^service_manager\.unreachable .*want a path/);
  }
});

test("NotifySocket tells in order, one message a datagram", async () => {
  await using receiver = await NotifyReceiver.listen();
  const { events, parts } = keptLog();
  const socket = opened(receiver.address, parts);
  socket.ready("a\nWATCHDOG=trigger");
  socket.alive();
  socket.status("é".repeat(300));
  socket.reloading("Reloading");
  socket.stopping("Stopping");
  await socket.close();
  await socket.close();
  socket.alive();
  const taken = await receiver.take(5);
  assertEquals(taken.toSpliced(3, 1), [
    "READY=1\nSTATUS=a WATCHDOG=trigger",
    "WATCHDOG=1",
    `STATUS=${"é".repeat(256)}`,
    "STOPPING=1\nSTATUS=Stopping",
  ]);
  assertMatch(
    taken[3] ?? "",
    /^RELOADING=1\nMONOTONIC_USEC=\d+\nSTATUS=Reloading$/,
  );
  assertEquals(events, []);
});

test("NotifySocket.reloading() is never earlier than the kernel's clock", async () => {
  await using receiver = await NotifyReceiver.listen();
  const socket = opened(receiver.address);
  // The first field counts from the start of the machine, asleep or not, with
  // two digits after the point, cut off.
  const [uptime = ""] = (await Deno.readTextFile("/proc/uptime")).split(" ");
  socket.reloading("");
  await socket.close();
  const [message = ""] = await receiver.take(1);
  const us = Number(/MONOTONIC_USEC=(\d+)/.exec(message)?.[1]);
  assert(us >= Number(uptime) * 1e6, `${us} is before ${uptime} s`);
});

test("NotifySocket reaches abstract sockets where the runtime does", async () => {
  const { events, parts } = keptLog();
  let receiver: NotifyReceiver;
  try {
    receiver = await NotifyReceiver.listen(`@tryst-test-${Deno.pid}`);
  } catch (error) {
    // Deno 2.7 knows none, and then says so once.
    assert(error instanceof TypeError);
    const socket = opened("@tryst-test", parts);
    socket.ready("");
    socket.alive();
    await socket.close();
    assertEquals(events.length, 1);
    assertMatch(events[0] ?? "", /^service_manager\.unreachable/);
    return;
  }
  const socket = opened(receiver.address, parts);
  socket.ready("Ready");
  await socket.close();
  assertEquals(await receiver.take(1), ["READY=1\nSTATUS=Ready"]);
  assertEquals(events, []);
  await receiver[Symbol.asyncDispose]();
});

test("NotifySocket goes on when nobody receives, and logs it once", async () => {
  const folder = await Deno.makeTempDir();
  const { events, parts } = keptLog();
  try {
    const socket = opened(`${folder}/notify`, parts);
    socket.ready("");
    socket.alive();
    for (let count = 0; count < 100; count++) socket.alive();
    await socket.close();
    assertEquals(events.length, 1);
    assertMatch(events[0] ?? "", /^service_manager\.unreachable/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

test("NotifySocket leaves no file behind", async () => {
  await using receiver = await NotifyReceiver.listen();
  const socket = opened(receiver.address);
  socket.ready("");
  await receiver.take(1);
  assert(receiver.sender.endsWith("/notify"), receiver.sender);
  const folder = receiver.sender.slice(0, -"/notify".length);
  await assertRejects(() => Deno.lstat(folder), Deno.errors.NotFound);
  await socket.close();
});

test("NotifySocket bounds what waits for a receiver that does not read", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/notify`;
  const deaf = Deno.listenDatagram({ transport: "unixpacket", path });
  const { events, parts } = keptLog();
  const socket = opened(path, parts);
  try {
    // The kernel keeps some hundred at most, the socket the next 16.
    for (let count = 0; count < 2_000; count++) {
      socket.alive();
      if (count % 16 === 0) await new Promise((done) => setTimeout(done));
    }
    assertEquals(events, [
      'service_manager.unreachable {"reason":"it reads nothing"}',
    ]);
    await socket.close();
  } finally {
    deaf.close();
    await Deno.remove(folder, { recursive: true });
  }
});

test("watchdogIntervalMs() is half the time, for this process alone", () => {
  const table: [string | undefined, string | undefined, number | undefined][] =
    [
      [undefined, undefined, undefined],
      ["", undefined, undefined],
      ["x", undefined, undefined],
      ["-1", undefined, undefined],
      ["0", undefined, undefined],
      ["1e6", undefined, undefined],
      ["1999", undefined, undefined],
      ["2000", undefined, 1],
      ["30000000", undefined, 15_000],
      ["30000000", "7", 15_000],
      ["30000000", "8", undefined],
      ["30000000", "", undefined],
      ["4294967294000", "7", 2_147_483_647],
      ["4294967296000", "7", undefined],
    ];
  for (const [usec, pid, ms] of table) {
    assertEquals(watchdogIntervalMs({ usec, pid }, 7), ms, `${usec} ${pid}`);
  }
});
