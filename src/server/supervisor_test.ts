/**
 * Workers that die are replaced, those that hang are reported, and stopping
 * waits for requests, not for workers.
 *
 * A worker here is a real thread with a part to play; time is virtual where
 * it matters. What real workers lose is tested in `tests/admin`.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { VirtualClock } from "../../tests/memory_sockets.ts";
import type { Clock } from "../core/outside.ts";
import { systemClock } from "../system/clock.ts";
import { Supervisor } from "./supervisor.ts";

/** A thread that answers as a worker does, and does what routes tell it. */
const WORKER = `
  globalThis.onmessage = ({ data }) => {
    const [word, index] = String(data.routes).split(" ");
    if (/^(one|two)$/.test(data.start)) {
      postMessage({ kind: "log", level: "info", event: data.kind + " " + data.start, fields: {} });
    }
    if (data.kind === "start" && (data.start === "fail" || word === "fail")) {
      postMessage({ kind: "failed", message: "Address in use" });
    } else if (data.kind === "start") {
      globalThis.index = data.index;
      postMessage({ kind: "listening", port: data.port || 1234 });
    } else if (data.kind === "stop") {
      if (globalThis.mute !== true) postMessage({ kind: "stopped", brokenCount: 0 });
    } else if (word === "throw") {
      throw new Error("planted");
    } else if (word === "mute") {
      globalThis.mute = String(globalThis.index) === index;
    } else if (word === "beat" && globalThis.mute !== true) {
      postMessage({ kind: "alive" });
      postMessage({ kind: "log", level: "info", event: "beaten", fields: {} });
    }
  };
`;

function spawn(): Worker {
  const url = `data:text/javascript,${encodeURIComponent(WORKER)}`;
  return new Worker(url, { type: "module" });
}

/** A supervisor of two workers and what it has told. */
interface Watched {
  readonly supervisor: Supervisor<string, string>;
  readonly events: string[];
  /** What the next worker is told at its start. */
  routes: string;
  /** Requests that each worker has open. */
  readonly open: number[];
  /** Resolves once an event of this name has been told so often. */
  told(event: string, count: number): Promise<void>;
}

function watched(clock: Clock, start = ""): Watched {
  const events: string[] = [];
  let notify = () => {};
  const tell = (event: string) => {
    events.push(event);
    notify();
  };
  const open = [0, 0];
  const self: Watched = {
    events,
    open,
    routes: "none",
    supervisor: new Supervisor({
      count: 2,
      clock,
      log: (_level, event) => tell(event),
      spawn,
      start,
      routes: () => self.routes,
      openCount: (index) => open[index] ?? 0,
      reclaim: (index) => {
        open[index] = 0;
        tell(`reclaim ${index}`);
      },
      hung: (index) => tell(`hung ${index}`),
      silentMs: 3_000,
    }),
    async told(event, count) {
      const seen = () => events.filter((other) => other === event).length;
      while (seen() < count) {
        await new Promise<void>((resolve) => notify = resolve);
      }
    },
  };
  return self;
}

test("Supervisor.start() rejects when a worker cannot listen", async () => {
  const { supervisor, events } = watched(systemClock, "fail");
  await assertRejects(() => supervisor.start(0), Error, "Address in use");
  assertEquals(supervisor.servingCount, 0);
  assertEquals(events, ["reclaim 0", "worker.died"]);
  assertEquals(await supervisor.stop(0), 0);
});

test("Supervisor.start() resolves to the port that the first worker got", async () => {
  const { supervisor } = watched(systemClock);
  assertEquals(await supervisor.start(0), 1234);
  assertEquals(supervisor.servingCount, 2);
  assertEquals(await supervisor.stop(0), 0);
  assertEquals(supervisor.servingCount, 0);
});

test("Supervisor replaces workers that die, and takes back first what they held", async () => {
  const { supervisor, events, told } = watched(systemClock);
  await supervisor.start(0);
  supervisor.publish("throw");
  await told("worker.replaced", 2);
  assertEquals(supervisor.restartCount, 2);
  assertEquals(supervisor.servingCount, 2);
  for (const index of [0, 1]) {
    assertEquals(events.filter((event) => event === `reclaim ${index}`), [
      `reclaim ${index}`,
    ]);
  }
  const reclaims = events.filter((event) => event.startsWith("reclaim"));
  assertEquals(events.indexOf(reclaims[0] ?? ""), 0);
  supervisor.publish("beat");
  await told("beaten", 2);
  await supervisor.stop(0);
});

test("Supervisor.reload() reaches all workers, and those that are started later", async () => {
  const { supervisor, events, told } = watched(systemClock, "one");
  await supervisor.start(0);
  await told("start one", 2);
  supervisor.reload("two", "none");
  await told("reload two", 2);
  supervisor.publish("throw");
  await told("worker.replaced", 2);
  await told("start two", 2);
  assertEquals(events.filter((event) => event === "start one").length, 2);
  await supervisor.stop(0);
});

test("Supervisor replaces a worker later each time it dies", async () => {
  const clock = new VirtualClock();
  const watch = watched(clock);
  const { supervisor, told } = watch;
  await supervisor.start(0);
  watch.routes = "fail";
  supervisor.publish("throw");
  await told("worker.died", 2);
  for (const [round, delayMs] of [100, 200, 400, 800].entries()) {
    assertEquals(supervisor.servingCount, 0);
    await clock.advance(delayMs - 1);
    assertEquals(supervisor.restartCount, 2 * round);
    await clock.advance(1);
    assertEquals(supervisor.restartCount, 2 * (round + 1));
    await told("worker.died", 2 * (round + 2));
  }
  watch.routes = "none";
  await clock.advance(1_600);
  await told("worker.replaced", 2);
  assertEquals(supervisor.servingCount, 2);
  await supervisor.stop(0);
});

test("Supervisor reports a worker that is silent, once, and no other", async () => {
  const clock = new VirtualClock();
  const { supervisor, events, told } = watched(clock);
  await supervisor.start(0);
  supervisor.publish("mute 1");
  await clock.advance(2_000);
  supervisor.publish("beat");
  await told("beaten", 1);
  // Worker 0 has beaten a moment ago, worker 1 not since it was started.
  await clock.advance(1_000);
  assertEquals(events.filter((event) => event.startsWith("hung")), ["hung 1"]);
  assertEquals(supervisor.servingCount, 1);
  supervisor.publish("beat");
  await told("beaten", 2);
  await clock.advance(2_000);
  assertEquals(events.filter((event) => event.startsWith("hung")), ["hung 1"]);
  supervisor.cut();
});

test("Supervisor.stop() waits for requests and not for silent connections", async () => {
  const clock = new VirtualClock();
  const { supervisor, open } = watched(clock);
  await supervisor.start(0);
  supervisor.publish("mute 0");
  open[0] = 1;
  let cutCount: number | undefined;
  supervisor.stop(60_000).then((count) => cutCount = count);
  await clock.advance(30_000);
  assertEquals(cutCount, undefined);
  open[0] = 0;
  await clock.advance(900);
  assertEquals(cutCount, undefined);
  await clock.advance(200);
  assertEquals(cutCount, 0);
  assertEquals(clock.timerCount, 0);
});

test("Supervisor.stop() cuts at the deadline and says how many", async () => {
  const clock = new VirtualClock();
  const { supervisor, open } = watched(clock);
  await supervisor.start(0);
  open[0] = 2;
  open[1] = 3;
  let cutCount: number | undefined;
  const stopped = supervisor.stop(1_000).then((count) => cutCount = count);
  await clock.advance(999);
  open[1] = 1;
  await clock.advance(300);
  assertEquals(cutCount, undefined);
  // By now they have been told to give up: being answered so is being cut.
  open[0] = 0;
  await clock.advance(1);
  assertEquals(await stopped, 3);
  assertEquals(clock.timerCount, 0);
});

test("Supervisor.stop() does not wait for what a hanging worker holds", async () => {
  const clock = new VirtualClock();
  const { supervisor, open, told } = watched(clock);
  await supervisor.start(0);
  supervisor.publish("mute 1");
  open[1] = 4;
  for (const round of [1, 2, 3]) {
    supervisor.publish("beat");
    await told("beaten", round);
    await clock.advance(1_000);
  }
  assertEquals(supervisor.servingCount, 1);
  let cutCount: number | undefined;
  supervisor.stop(60_000).then((count) => cutCount = count);
  await clock.advance(1_100);
  assertEquals(cutCount, 4);
});

test("Supervisor.cut() ends whatever stop() waits for", async () => {
  const clock = new VirtualClock();
  const { supervisor, open } = watched(clock);
  await supervisor.start(0);
  open[0] = 7;
  const stopped = supervisor.stop(60_000);
  supervisor.cut();
  assertEquals(await stopped, 7);
  assertEquals(clock.timerCount, 0);
});
