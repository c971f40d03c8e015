/**
 * What is drained stays so over a restart, whatever has become of the file.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import type { Log } from "../../src/core/outside.ts";
import { DrainFile } from "../../src/stores/drain_file.ts";
import { DrainKeeper } from "../../src/wiring/drain_keeper.ts";
import { withWorld } from "../gateway/world.ts";
import { test } from "../leakproof.ts";

async function withDirectory(
  body: (directory: string) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await body(`${directory}/state`);
  } finally {
    await Deno.chmod(directory, 0o700);
    await Deno.remove(directory, { recursive: true });
  }
}

/** Runs a gateway with two endpoints; resolves to their states at the end. */
async function states(
  directory: string | undefined,
  body: (keeper: DrainKeeper) => void | Promise<void>,
): Promise<{ states: string[]; events: string[] }> {
  const events: string[] = [];
  let states: string[] = [];
  const log: Log = (_level, event, fields = {}) =>
    void events.push(`${event} ${fields["reason"]}`);
  await withWorld({ engines: [{}, {}] }, async ({ gateway: { control } }) => {
    const file = directory === undefined ? undefined : new DrainFile(directory);
    const keeper = new DrainKeeper({ control, log, file });
    await keeper.start();
    await body(keeper);
    await keeper.stop();
    states = control.endpoints().map(({ state }) => state);
  });
  return { states, events };
}

test("drains: kept over a restart, and until they are ended", async () => {
  await withDirectory(async (directory) => {
    const first = await states(directory, (keeper) => {
      assertEquals(keeper.drain("e9"), false);
      assertEquals(keeper.restore("e0"), true);
      assertEquals(keeper.drain("e1"), true);
      assertEquals(keeper.drain("e1"), true);
    });
    assertEquals(first.states, ["ready", "draining"]);
    const { path } = new DrainFile(directory);
    assertEquals(await Deno.readTextFile(path), "e1\n");
    assertEquals(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
    const second = await states(directory, () => {});
    assertEquals(second.states, ["ready", "draining"]);
    const third = await states(directory, (keeper) => {
      keeper.drain("e0");
      keeper.restore("e1");
    });
    assertEquals(third.states[0], "draining");
    assertEquals(await new DrainFile(directory).read(), ["e0"]);
    const fourth = await states(
      directory,
      (keeper) => void keeper.restore("e0"),
    );
    assertEquals(await new DrainFile(directory).read(), []);
    for (const { events } of [first, second, third, fourth]) {
      assertEquals(events, []);
    }
  });
});

test("drains: endpoints that are not listed are remembered, within bounds", async () => {
  await withDirectory(async (directory) => {
    const file = new DrainFile(directory);
    const gone = Array.from({ length: 300 }, (_, index) => `gone-${index}`);
    await file.write(gone);
    const { states: now } = await states(
      directory,
      (keeper) => void keeper.drain("e0"),
    );
    assertEquals(now, ["draining", "ready"]);
    const kept = await file.read();
    assertEquals([kept.length, kept[0], kept.at(-1)], [256, "gone-1", "e0"]);
  });
});

test("drains: a file that is none is told, and costs nothing else", async () => {
  await withDirectory(async (directory) => {
    const { path } = new DrainFile(directory);
    const texts = ["x".repeat(65_537), undefined];
    for (const text of texts) {
      await Deno.mkdir(directory, { recursive: true });
      if (text === undefined) await Deno.mkdir(path);
      else await Deno.writeTextFile(path, text);
      const { events, states: now } = await states(directory, () => {});
      assertEquals(now, ["ready", "ready"]);
      assertEquals(events.length, 1);
      assertMatch(events[0] ?? "", /^drains.refused RangeError: Cannot use/);
      await Deno.remove(directory, { recursive: true });
    }
  });
});

test("drains: a directory that cannot be written is told, and drains hold", async () => {
  await withDirectory(async (directory) => {
    // A file where the directory should be stops even the superuser.
    await Deno.writeTextFile(directory, "");
    const { events, states: now } = await states(
      directory,
      (keeper) => void keeper.drain("e1"),
    );
    assertEquals(now, ["ready", "draining"]);
    assertMatch(events.at(-1) ?? "", /^drains.save_failed /);
  });
  const { events, states: now } = await states(
    undefined,
    (keeper) => void keeper.drain("e1"),
  );
  assertEquals([now, events], [["ready", "draining"], []]);
});
