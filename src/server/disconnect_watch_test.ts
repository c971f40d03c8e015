/**
 * Who stays open is listened to, and nobody else is kept.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { test } from "../../tests/leakproof.ts";
import { DisconnectWatch, type Watchable } from "./disconnect_watch.ts";

function watchable(heard: string[], name: string): Watchable {
  return { rosterPlace: -1, tick: -1, listen: () => heard.push(name) };
}

test("DisconnectWatch listens to those still open after one or two ticks", () => {
  using time = new FakeTime();
  const heard: string[] = [];
  const watch = new DisconnectWatch(false);
  const early = watchable(heard, "early");
  const late = watchable(heard, "late");
  const quick = watchable(heard, "quick");
  watch.add(early);
  watch.add(quick);
  watch.answered(quick);
  time.tick(24);
  watch.add(late);
  time.tick(1);
  assertEquals(heard, []);
  time.tick(25);
  assertEquals(heard.toSorted(), ["early", "late"]);
  time.tick(100);
  assertEquals(heard.length, 2);
  watch.close();
});

test("DisconnectWatch forgets everybody when it is closed", () => {
  using time = new FakeTime();
  const heard: string[] = [];
  const watch = new DisconnectWatch(false);
  watch.add(watchable(heard, "one"));
  watch.close();
  time.tick(100);
  assertEquals(heard, []);
});

test("DisconnectWatch listens at once where it must", () => {
  const heard: string[] = [];
  new DisconnectWatch(true).add(watchable(heard, "one"));
  assertEquals(heard, ["one"]);
});
