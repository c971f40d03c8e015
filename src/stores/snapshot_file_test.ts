/**
 * The file of a snapshot on a real disk: what is refused, what a failure or a
 * kill leaves, and who may read it.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { keyOf } from "../../tests/placement_world.ts";
import { SnapshotSite } from "../../tests/snapshot_site.ts";
import { FORMAT, openSnapshot } from "../core/sessions/session_snapshot.ts";
import { SnapshotRefusal } from "../core/sessions/snapshot_head.ts";
import { SnapshotFile, type SnapshotPieces } from "./snapshot_file.ts";

const NOW_MS = 1_700_000_000_000;

/** A snapshot of so many sessions. */
function snapshotOf(count: number): SnapshotPieces {
  const site = new SnapshotSite({ e0: [0, 1] }, {
    capacity: Math.max(8, 4 * count),
    startMs: NOW_MS,
  });
  for (let n = 0; n < count; n++) {
    site.put({ key: keyOf(`k${n}`), endpoint: "e0", lastUseMs: NOW_MS });
  }
  return site.writer(NOW_MS);
}

/** Runs `body` with a directory that is gone afterwards. */
async function withDirectory(
  body: (directory: string) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await body(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function namesIn(directory: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(directory), ({ name }) => name))
    .sort();
}

async function countIn(file: SnapshotFile): Promise<number | undefined> {
  const bytes = await file.read();
  return bytes === undefined ? undefined : openSnapshot(bytes).count;
}

test("read() refuses what cannot be a snapshot, before it takes memory", async () => {
  await withDirectory(async (directory) => {
    const file = new SnapshotFile(directory);
    await file.write(snapshotOf(2));
    const good = await Deno.readFile(file.path);
    const announced = Uint8Array.from(good);
    const view = new DataView(announced.buffer);
    view.setUint32(FORMAT.countAt, FORMAT.countMax, true);
    const newer = Uint8Array.from(good);
    newer[FORMAT.versionAt] = 2;
    const cases: [bytes: Uint8Array, reason: string][] = [
      [new Uint8Array(), "is no snapshot"],
      [new Uint8Array(10_000), "is no snapshot"],
      [good.subarray(0, 40), "ends after 40 bytes"],
      [good.subarray(0, good.length - 1), "its opening tells of"],
      [Uint8Array.from([...good, 0]), "its opening tells of"],
      [announced, "its opening tells of 536871"],
      [newer, "has format version 2"],
    ];
    for (const [bytes, reason] of cases) {
      await Deno.writeFile(file.path, bytes);
      await assertRejects(() => file.read(), SnapshotRefusal, reason);
      // It is left as it is until the next snapshot takes its place.
      assertEquals(await Deno.readFile(file.path), bytes);
    }
    await file.write(snapshotOf(3));
    assertEquals(await countIn(file), 3);
  });
});

test("read() refuses a file of a terabyte that holds nothing", async () => {
  await withDirectory(async (directory) => {
    const file = new SnapshotFile(directory);
    await file.write(snapshotOf(2));
    await Deno.truncate(file.path, 2 ** 40);
    await assertRejects(() => file.read(), SnapshotRefusal, `${2 ** 40} bytes`);
  });
});

test("read() refuses what is no file and does not wait for a pipe", async () => {
  await withDirectory(async (directory) => {
    const file = new SnapshotFile(directory);
    assertEquals(await file.read(), undefined);
    await Deno.mkdir(file.path);
    await assertRejects(() => file.read(), SnapshotRefusal, "is no file");
    await Deno.remove(file.path);
    const made = await new Deno.Command("mkfifo", { args: [file.path] })
      .output();
    assert(made.success);
    await assertRejects(() => file.read(), SnapshotRefusal, "is no file");
  });
});

test("write() makes the directory, and nobody else may read what is in it", async () => {
  await withDirectory(async (directory) => {
    const inner = `${directory}/a/b`;
    const file = new SnapshotFile(inner);
    const size = await file.write(snapshotOf(5));
    const { mode, size: found } = await Deno.stat(file.path);
    assertEquals((mode ?? 0) & 0o777, 0o600);
    assertEquals(((await Deno.stat(inner)).mode ?? 0) & 0o777, 0o700);
    assertEquals(size, found);
    assertEquals(await countIn(file), 5);
    assertEquals(await namesIn(inner), ["sessions.snapshot"]);
  });
});

test("write() that fails on the way leaves the former file and no draft", async () => {
  await withDirectory(async (directory) => {
    const file = new SnapshotFile(directory);
    await file.write(snapshotOf(5));
    const former = await Deno.readFile(file.path);
    const { opening } = snapshotOf(1);
    const failing: SnapshotPieces[] = [
      {
        *pieces() {
          yield new Uint8Array(100_000);
          throw new Error("the disk is full");
        },
        opening,
      },
      {
        pieces: () => [new Uint8Array(100_000)],
        opening() {
          throw new Error("the disk is full");
        },
      },
    ];
    for (const snapshot of failing) {
      await assertRejects(() => file.write(snapshot), Error, "disk is full");
      assertEquals(await Deno.readFile(file.path), former);
      assertEquals(await namesIn(directory), ["sessions.snapshot"]);
    }
  });
});

test("write() fails where no directory can be", async () => {
  await withDirectory(async (directory) => {
    await Deno.writeTextFile(`${directory}/taken`, "");
    const file = new SnapshotFile(`${directory}/taken`);
    await assertRejects(() => file.write(snapshotOf(1)));
  });
});

test("write() follows no link that stands in its way", async () => {
  await withDirectory(async (directory) => {
    const file = new SnapshotFile(directory);
    const victim = `${directory}/victim`;
    await Deno.writeTextFile(victim, "untouched");
    await Deno.symlink(victim, `${file.path}.${Deno.pid}`);
    await Deno.symlink(victim, file.path);
    await file.write(snapshotOf(1));
    assertEquals(await Deno.readTextFile(victim), "untouched");
    assertEquals(await countIn(file), 1);
  });
});

test("a process that is killed while it writes leaves the former file", async () => {
  await withDirectory(async (directory) => {
    const file = new SnapshotFile(directory);
    await file.write(snapshotOf(5));
    const former = await Deno.readFile(file.path);
    const entry = new URL(
      "../../tests/stores/endless_draft.ts",
      import.meta.url,
    );
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", entry.href, directory],
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const reader = child.stdout.getReader();
    await reader.read();
    const draft = `sessions.snapshot.${child.pid}`;
    const begun = await namesIn(directory);
    child.kill("SIGKILL");
    await child.status;
    await reader.cancel();
    assertEquals(begun, ["sessions.snapshot", draft]);
    assertEquals(await Deno.readFile(file.path), former);
    assertEquals(await countIn(file), 5);
    // What it has begun stays while somebody might still be at it.
    await file.write(snapshotOf(6));
    assertEquals(await namesIn(directory), begun);
    const longAgo = new Date(Date.now() - 3_600_000);
    await Deno.utime(`${directory}/${draft}`, longAgo, longAgo);
    await file.write(snapshotOf(7));
    assertEquals(await namesIn(directory), ["sessions.snapshot"]);
    assertEquals(await countIn(file), 7);
  });
});

test("isAnothers() is true once somebody else has claimed the file", async () => {
  await withDirectory(async (directory) => {
    const old = new SnapshotFile(`${directory}/state`);
    const young = new SnapshotFile(`${directory}/state`);
    assertEquals(await old.isAnothers(), false, "nobody's");
    await old.claim();
    assertEquals(await old.isAnothers(), false);
    assertEquals(await young.isAnothers(), true);
    await young.claim();
    assertEquals(await old.isAnothers(), true);
    assertEquals(await young.isAnothers(), false);
    // Whoever writes last, it belongs to who came last.
    await old.write(snapshotOf(2));
    assertEquals(await young.isAnothers(), false);
    await old.release();
    assertEquals(await old.isAnothers(), true, "not the old one's to release");
    await young.release();
    assertEquals(await old.isAnothers(), false);
  });
});
