/**
 * A worker that dies is replaced, on the same port, and its debts are called.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { systemClock } from "../system/clock.ts";
import { Supervisor } from "./supervisor.ts";

/** A thread that answers as a worker does, and throws when it is told to. */
const WORKER = `
  globalThis.onmessage = ({ data }) => {
    if (data.kind === "start" && data.start.fails) {
      postMessage({ kind: "failed", message: "Address in use" });
    } else if (data.kind === "start") {
      postMessage({ kind: "listening", port: data.port || 1234 });
    } else if (data.kind === "stop") {
      postMessage({ kind: "stopped" });
    } else if (data.kind === "routes") {
      if (data.routes === "throw") throw new Error("planted");
      postMessage({ kind: "log", level: "info", event: "routes",
        fields: { routes: data.routes } });
    }
  };
`;

function spawn(): Worker {
  const url = `data:text/javascript,${encodeURIComponent(WORKER)}`;
  return new Worker(url, { type: "module" });
}

interface Events {
  readonly log: string[];
  readonly reclaimed: number[];
  /** Resolves when an event of this name has been logged. */
  until(event: string): Promise<void>;
}

function watchedSupervisor(
  start: { fails: boolean },
): { supervisor: Supervisor<{ fails: boolean }, string>; events: Events } {
  const log: string[] = [];
  const reclaimed: number[] = [];
  const waiting = new Map<string, () => void>();
  const supervisor = new Supervisor({
    count: 2,
    clock: systemClock,
    log: (_level, event) => {
      log.push(event);
      waiting.get(event)?.();
    },
    spawn,
    start,
    routes: () => "none",
    reclaim: (index) => reclaimed.push(index),
  });
  const until = (event: string) =>
    new Promise<void>((resolve) => waiting.set(event, resolve));
  return { supervisor, events: { log, reclaimed, until } };
}

test("Supervisor.start() resolves to the port that the first worker got", async () => {
  const { supervisor } = watchedSupervisor({ fails: false });
  assertEquals(await supervisor.start(0), 1234);
  await supervisor.stop(0);
});

test("Supervisor.start() rejects when a worker cannot listen", async () => {
  const { supervisor } = watchedSupervisor({ fails: true });
  await assertRejects(() => supervisor.start(0), Error, "Address in use");
});

test("Supervisor replaces workers that die, and calls their debts first", async () => {
  const { supervisor, events } = watchedSupervisor({ fails: false });
  await supervisor.start(0);
  const replaced = events.until("worker.replaced");
  supervisor.publish("throw");
  await replaced;
  while (supervisor.restartCount < 2) {
    await events.until("worker.replaced");
  }
  assertEquals(events.reclaimed.toSorted(), [0, 1]);
  const routed = events.until("routes");
  supervisor.publish("after");
  await routed;
  await supervisor.stop(0);
});
