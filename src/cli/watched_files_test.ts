/**
 * Lists of files, of which each is watched once and no other.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { VirtualClock } from "../../tests/memory_sockets.ts";
import { secretPaths, WatchedFiles } from "./watched_files.ts";

test("WatchedFiles.watch() watches each file once, and lets others go", () => {
  const clock = new VirtualClock();
  const files = new WatchedFiles({ clock, changed: () => {} });
  const paths = Array.from({ length: 40 }, (_, at) => `/none/file-${at}`);
  files.watch(paths);
  const all = clock.timerCount;
  files.watch([...paths, ...paths]);
  assertEquals(clock.timerCount, all);
  files.watch(paths.slice(0, 10));
  assertEquals(clock.timerCount, all / 4);
  files.close();
  assertEquals(clock.timerCount, 0);
});

test("secretPaths() are those that are named", () => {
  const auth = { keysFile: undefined };
  assertEquals(secretPaths({ auth, endpoints: [] }), []);
  assertEquals(secretPaths({ auth: { keysFile: "/k" }, endpoints: [] }), [
    "/k",
  ]);
});
