/**
 * Tests of what a gateway has its service manager told, on a clock of the
 * test's own and over a real socket.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { Clock } from "../core/outside.ts";
import { NotifyReceiver } from "../../tests/admin/notify_receiver.ts";
import { test } from "../../tests/leakproof.ts";
import { type ServiceFacts, ServiceReports } from "./service_reports.ts";

/** Timers that fire when the test says so. */
class HandClock implements Clock {
  #nowMs = 0;
  #timers: { readonly atMs: number; readonly callback: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, callback };
    this.#timers.push(timer);
    return () => this.#timers = this.#timers.filter((it) => it !== timer);
  }

  get timerCount(): number {
    return this.#timers.length;
  }

  pass(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (;;) {
      const next = this.#timers.toSorted((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.#timers = this.#timers.filter((it) => it !== next);
      this.#nowMs = next.atMs;
      next.callback();
    }
    this.#nowMs = untilMs;
  }
}

const PID = 7;

function reports(env: Readonly<Record<string, string>>) {
  const clock = new HandClock();
  const state: { facts: ServiceFacts; isAlive: boolean } = {
    facts: { eligible: 0, total: 2, inFlight: 0 },
    isAlive: true,
  };
  const events: string[] = [];
  const service = new ServiceReports({
    edge: { env: (name) => env[name] },
    clock,
    log: Object.assign(
      (_level: string, event: string) => void events.push(event),
      { takesDebug: false },
    ),
    pid: PID,
    facts: () => state.facts,
    isAlive: () => state.isAlive,
  });
  return { clock, events, service, state };
}

const ZERO = "0 of 2 endpoints ready, 0 requests in flight";
const ONE = "1 of 2 endpoints ready, 1 request in flight";

test("ServiceReports does nothing without a service manager", async () => {
  for (const env of [{}, { NOTIFY_SOCKET: "" }, { NOTIFY_SOCKET: "x" }]) {
    const { clock, service } = reports({ ...env, WATCHDOG_USEC: "2000000" });
    service.ready();
    service.reloading();
    service.ready();
    service.stopping();
    assertEquals(clock.timerCount, 0);
    await service.close();
  }
});

test("ServiceReports tells a status only when it has changed", async () => {
  await using receiver = await NotifyReceiver.listen();
  const { clock, service, state } = reports({
    NOTIFY_SOCKET: receiver.address,
  });
  service.ready();
  clock.pass(9_000);
  state.facts = { eligible: 1, total: 2, inFlight: 1 };
  clock.pass(2_999);
  clock.pass(1);
  clock.pass(9_000);
  service.stopping();
  await service.close();
  assertEquals(await receiver.take(3), [
    `READY=1\nSTATUS=Ready: ${ZERO}`,
    `STATUS=Ready: ${ONE}`,
    `STOPPING=1\nSTATUS=Stopping: ${ONE}`,
  ]);
  assertEquals(clock.timerCount, 0);
});

test("ServiceReports gives signs of life at half the time, while all live", async () => {
  await using receiver = await NotifyReceiver.listen();
  const { clock, service, state } = reports({
    NOTIFY_SOCKET: receiver.address,
    WATCHDOG_USEC: "20000000",
    WATCHDOG_PID: `${PID}`,
  });
  service.ready();
  clock.pass(9_999);
  clock.pass(1);
  state.isAlive = false;
  clock.pass(40_000);
  state.isAlive = true;
  service.stopping();
  clock.pass(10_000);
  await service.close();
  assertEquals(await receiver.take(5), [
    `READY=1\nSTATUS=Ready: ${ZERO}`,
    "WATCHDOG=1",
    "WATCHDOG=1",
    `STOPPING=1\nSTATUS=Stopping: ${ZERO}`,
    "WATCHDOG=1",
  ]);
});

test("ServiceReports watches for its own process alone", async () => {
  await using receiver = await NotifyReceiver.listen();
  const { clock, service } = reports({
    NOTIFY_SOCKET: receiver.address,
    WATCHDOG_USEC: "2000000",
    WATCHDOG_PID: `${PID + 1}`,
  });
  service.ready();
  clock.pass(60_000);
  await service.close();
  assertEquals(await receiver.take(1), [`READY=1\nSTATUS=Ready: ${ZERO}`]);
});

test("ServiceReports brackets a reload, and none comes after stopping", async () => {
  await using receiver = await NotifyReceiver.listen();
  const { service } = reports({ NOTIFY_SOCKET: receiver.address });
  service.ready();
  service.reloading();
  service.ready();
  service.stopping();
  service.reloading();
  service.ready();
  await service.close();
  const taken = await receiver.take(4);
  assertEquals(taken.map((text) => text.replace(/\d{2,}/, "N")), [
    `READY=1\nSTATUS=Ready: ${ZERO}`,
    `RELOADING=1\nMONOTONIC_USEC=N\nSTATUS=Reloading: ${ZERO}`,
    `READY=1\nSTATUS=Ready: ${ZERO}`,
    `STOPPING=1\nSTATUS=Stopping: ${ZERO}`,
  ]);
});

test("ServiceReports tells why a start failed", async () => {
  await using receiver = await NotifyReceiver.listen();
  const { service } = reports({ NOTIFY_SOCKET: receiver.address });
  service.failed("Cannot serve: a\nREADY=1");
  await service.close();
  assertEquals(await receiver.take(1), ["STATUS=Cannot serve: a READY=1"]);
});
