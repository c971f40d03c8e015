/**
 * Changes of a real file, in each of the ways in which tools make them.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { VirtualClock } from "../../tests/memory_sockets.ts";
import { systemClock } from "./clock.ts";
import { FileWatch, isRegularFile } from "./file_watch.ts";

/** Looks again until it is so, for ten seconds at most. */
async function until(isSo: () => boolean): Promise<void> {
  for (let look = 0; look < 2_000 && !isSo(); look++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A watch on `config` in a new folder, and what it has told. */
class Site implements AsyncDisposable {
  readonly folder = Deno.makeTempDirSync();
  readonly path = `${this.folder}/config`;
  #watch: FileWatch | undefined;
  #count = 0;

  /** Starts to watch; the first time is told at once. */
  async watch(options: { pollMs: number; watchesFolder: boolean }) {
    this.#watch = new FileWatch({
      path: this.path,
      clock: systemClock,
      changed: () => this.#count++,
      ...options,
    });
    await this.told(1);
  }

  /** Resolves once so many changes have been told, and not one more. */
  async told(count: number): Promise<void> {
    await until(() => this.#count >= count);
    assertEquals(this.#count, count);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watch?.close();
    // What is being looked at right now ends within that.
    await new Promise((resolve) => setTimeout(resolve, 50));
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** Events alone, and looks alone. */
const WAYS = [
  { pollMs: 3_600_000, watchesFolder: true },
  { pollMs: 40, watchesFolder: false },
];

test("FileWatch sees a file that is written, and one that is renamed into place", async () => {
  for (const way of WAYS) {
    await using site = new Site();
    await Deno.writeTextFile(site.path, "one");
    await site.watch(way);
    await Deno.writeTextFile(site.path, "two");
    await site.told(2);
    await Deno.writeTextFile(`${site.path}.new`, "three");
    await Deno.rename(`${site.path}.new`, site.path);
    await site.told(3);
    await Deno.remove(site.path);
    await site.told(4);
    await Deno.writeTextFile(site.path, "three");
    await site.told(5);
  }
});

test("FileWatch sees a ConfigMap that is swapped by its link (G9 llama-swap #59)", async () => {
  for (const way of WAYS) {
    await using site = new Site();
    const { folder, path } = site;
    for (const version of ["v1", "v2"]) {
      await Deno.mkdir(`${folder}/..${version}`);
      await Deno.writeTextFile(`${folder}/..${version}/config`, version);
    }
    await Deno.symlink("..v1", `${folder}/..data`);
    await Deno.symlink("..data/config", path);
    await site.watch(way);
    await Deno.symlink("..v2", `${folder}/..tmp`);
    await Deno.rename(`${folder}/..tmp`, `${folder}/..data`);
    await site.told(2);
  }
});

test("FileWatch tells nothing of what is the same, or gone for a moment", async () => {
  for (const way of WAYS) {
    await using site = new Site();
    await Deno.writeTextFile(site.path, "one");
    await site.watch(way);
    await Deno.utime(site.path, 1, 1);
    await Deno.writeTextFile(`${site.folder}/other`, "other");
    await Deno.remove(site.path);
    await Deno.writeTextFile(site.path, "one");
    await Deno.writeTextFile(site.path, "two");
    await site.told(2);
  }
});

test("FileWatch tells of what two looks in a row have found", async () => {
  const clock = new VirtualClock();
  const path = await Deno.makeTempFile();
  let count = 0;
  const watch = new FileWatch({
    path,
    clock,
    changed: () => count++,
    pollMs: 3_600_000,
    watchesFolder: false,
  });
  // A look that has found something new has another one follow it.
  const look = async () => {
    await clock.advance(200);
    await until(() => clock.timerCount === 2);
    assertEquals(clock.timerCount, 2);
  };
  for (const text of ["half", "whole"]) {
    await Deno.writeTextFile(path, text);
    await look();
    assertEquals(count, 0);
  }
  await clock.advance(200);
  await until(() => count > 0);
  watch.close();
  assertEquals([count, clock.timerCount], [1, 0]);
  await Deno.remove(path);
});

test("FileWatch goes on where there is no folder, and never reads a pipe", async () => {
  await using site = new Site();
  await Deno.remove(site.folder);
  await site.watch({ pollMs: 40, watchesFolder: true });
  await Deno.mkdir(site.folder);
  const mkfifo = new Deno.Command("mkfifo", { args: [site.path] });
  assertEquals((await mkfifo.output()).success, true);
  await site.told(2);
  assertEquals(await isRegularFile(site.path), false);
  assertEquals(await isRegularFile(`${site.folder}/none`), undefined);
});
