/**
 * An engine's side ends in time, whatever the engine does or leaves.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { MemorySocket, VirtualClock } from "../../../tests/memory_sockets.ts";
import { EngineEnd } from "./engine_end.ts";
import { OPCODE } from "./websocket_frame.ts";

const MINUTE_MS = 60_000;
const GOING_AWAY = { code: 1001, reason: "" };

/** An engine's side over a socket that plays what it is told. */
function engineEnd() {
  const socket = new MemorySocket([]);
  const clock = new VirtualClock();
  const told: string[] = [];
  let room: Promise<void> | undefined;
  const end = new EngineEnd(socket, {
    clock,
    random: () => 0,
    owner: {
      room: () => room,
      onEngineMessage: (data) => told.push(`message ${data}`),
      onEngineEnd: (ending) => told.push(ending.kind),
      onEngineClosed: () => told.push("shut"),
    },
  });
  /** Opcodes of the frames written so far; their masks are 0. */
  const written = () => socket.written.map((bytes) => (bytes[0] ?? 0) & 15);
  const setRoom = (promise: Promise<void> | undefined) => room = promise;
  return { socket, clock, told, end, written, setRoom };
}

/** Lets everything happen that can happen now. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

function text(payload: string): Uint8Array {
  const bytes = new TextEncoder().encode(payload);
  return Uint8Array.of(0x81, bytes.length, ...bytes);
}

test("a silent engine is pinged, then given up", async () => {
  const { clock, told, end, written, socket } = engineEnd();
  end.start();
  await clock.advance(MINUTE_MS);
  await settle();
  assertEquals([written(), told], [[], []]);
  await clock.advance(MINUTE_MS);
  await settle();
  assertEquals([written(), told], [[OPCODE.ping], []]);
  await clock.advance(MINUTE_MS - 1);
  assertEquals(told, []);
  await clock.advance(1);
  await settle();
  assertEquals(told, ["silent", "shut"]);
  assertEquals([socket.isClosed, clock.timerCount], [true, 0]);
});

test("an engine that answers pings stays, and so does one that is not read", async () => {
  const { clock, told, end, socket, setRoom } = engineEnd();
  end.start();
  for (let i = 0; i < 10; i++) {
    await clock.advance(MINUTE_MS);
    socket.push(Uint8Array.of(0x8a, 0));
    await settle();
  }
  const paused = Promise.withResolvers<void>();
  setRoom(paused.promise);
  socket.push(text("a"));
  await settle();
  for (let i = 0; i < 10; i++) {
    await clock.advance(MINUTE_MS);
    await settle();
  }
  assertEquals(told, ["message a"]);
  setRoom(undefined);
  paused.resolve();
  end.shut();
  await settle();
  assertEquals(told, ["message a", "shut"]);
});

test("close() waits for the engine's close, but not for ever", async () => {
  const answered = engineEnd();
  answered.end.start();
  answered.end.close(GOING_AWAY);
  await settle();
  assertEquals(answered.told, []);
  answered.socket.push(text("late"), Uint8Array.of(0x88, 0));
  await settle();
  assertEquals(answered.told, ["shut"]);
  assertEquals(answered.clock.timerCount, 0);

  const silent = engineEnd();
  silent.end.start();
  silent.end.close(GOING_AWAY);
  await silent.clock.advance(4_999);
  await settle();
  assertEquals(silent.told, []);
  await silent.clock.advance(1);
  await settle();
  assertEquals(silent.told, ["shut"]);
  assertEquals([silent.socket.isClosed, silent.clock.timerCount], [true, 0]);
});

test("close() does not wait for an engine that takes nothing", async () => {
  const { clock, told, end, socket } = engineEnd();
  end.start();
  socket.stallsWrites = true;
  end.send(OPCODE.text, Uint8Array.of(97));
  end.close(GOING_AWAY);
  await clock.advance(5_000);
  await settle();
  assertEquals(told, ["shut"]);
  assertEquals(clock.timerCount, 0);
});

test("abandon() says one last word and closes at once", async () => {
  const { told, end, written, socket, clock } = engineEnd();
  end.start();
  end.abandon(GOING_AWAY);
  await settle();
  assertEquals([written(), told], [[OPCODE.close], ["shut"]]);
  assertEquals([socket.isClosed, clock.timerCount], [true, 0]);

  const stalled = engineEnd();
  stalled.end.start();
  stalled.socket.stallsWrites = true;
  stalled.end.abandon(GOING_AWAY);
  await settle();
  assertEquals(stalled.told, []);
  await stalled.clock.advance(50);
  await settle();
  assertEquals(stalled.told, ["shut"]);
});

test("an engine's close is answered, and nothing is sent behind it", async () => {
  const { told, end, written, socket, clock } = engineEnd();
  end.start();
  socket.push(text("a"), Uint8Array.of(0x88, 2, 3, 232), text("b"));
  await settle();
  end.send(OPCODE.text, Uint8Array.of(97));
  assertEquals(told, ["message a", "closed", "shut"]);
  assertEquals([written(), clock.timerCount], [[OPCODE.close], 0]);
});

test("the last words of an engine that takes nothing more are read", async () => {
  const { told, end, socket } = engineEnd();
  end.start();
  socket.write = () => Promise.reject(new Error("Broken pipe"));
  end.send(OPCODE.text, Uint8Array.of(97));
  await settle();
  assertEquals(told, []);
  socket.push(Uint8Array.of(0x88, 2, 3, 232));
  await settle();
  assertEquals(told, ["closed", "shut"]);
});

test("the end of the connection is the end, clean or not", async () => {
  for (const last of [null, new Error("Connection reset")]) {
    const { told, end, socket, clock } = engineEnd();
    end.start();
    socket.push(last);
    await settle();
    assertEquals(told, ["gone", "shut"]);
    assertEquals([socket.isClosed, clock.timerCount], [true, 0]);
  }
});

test("isFull counts what the engine has not taken, tiny frames too", async () => {
  const { end, socket } = engineEnd();
  end.start();
  socket.stallsWrites = true;
  end.send(OPCODE.binary, new Uint8Array(16_777_216 - 128 - 15));
  assertEquals(end.isFull, false);
  end.send(OPCODE.binary, new Uint8Array(0));
  assertEquals(end.isFull, true);
  end.shut();
  await settle();

  const tiny = engineEnd();
  tiny.end.start();
  tiny.socket.stallsWrites = true;
  let count = 0;
  while (!tiny.end.isFull) {
    tiny.end.send(OPCODE.binary, new Uint8Array(0));
    count++;
  }
  assertEquals(count, Math.ceil(16_777_216 / (128 + 6)));
  // Pings are not owed an answer any more.
  const before = tiny.written().length;
  tiny.socket.push(Uint8Array.of(0x89, 0));
  await settle();
  assertEquals(tiny.written().length, before);
  tiny.end.shut();
  await settle();
});

test("close() comes behind what is queued, however slowly it is taken", async () => {
  const { clock, told, end, socket, written } = engineEnd();
  const taken: (() => void)[] = [];
  const write = socket.write.bind(socket);
  socket.write = async (bytes) => {
    await new Promise<void>((resolve) => taken.push(resolve));
    return await write(bytes.subarray(0, 5));
  };
  end.start();
  for (let i = 0; i < 3; i++) end.send(OPCODE.binary, new Uint8Array(4));
  end.close(GOING_AWAY);
  // Each write is of 5 bytes: 2 for each of three messages and the close.
  for (let i = 0; i < 8; i++) {
    await clock.advance(4_000);
    assertEquals(told, [], `after ${i} writes`);
    taken.shift()?.();
    await settle();
  }
  const { binary, close } = OPCODE;
  assertEquals(
    written().filter((_, index) => index % 2 === 0),
    [binary, binary, binary, close],
  );
  await clock.advance(10_000);
  assertEquals(told, ["shut"]);
});
