/**
 * A bell is heard, whenever it rings and from whichever thread.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { type Bell, listenTo } from "./bell.ts";

/** Turns of the event loop until something must have been heard: seconds. */
const LOOKS_MAX = 1_000;

function newBell(): Bell {
  return { words: new Int32Array(new SharedArrayBuffer(8)), index: 1 };
}

function ring({ words, index }: Bell): void {
  Atomics.add(words, index, 1);
  Atomics.notify(words, index);
}

async function until(isSo: () => boolean): Promise<void> {
  for (let look = 0; look < LOOKS_MAX && !isSo(); look++) {
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  assert(isSo(), "it was not heard");
}

/** Counts what is heard while `body` runs. */
async function hearing(
  bell: Bell,
  body: (heard: () => number, stop: () => void) => Promise<void>,
): Promise<void> {
  let count = 0;
  const stop = listenTo(bell, () => count++);
  try {
    await body(() => count, stop);
  } finally {
    stop();
    // The pending wait ends in a turn of its own.
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

test("listenTo() calls at once: the word may have changed before", async () => {
  await hearing(newBell(), (heard) => {
    assertEquals(heard(), 1);
    return Promise.resolve();
  });
});

test("listenTo() hears each change that comes after the one before", async () => {
  const bell = newBell();
  await hearing(bell, async (heard) => {
    for (let rings = 0; rings < 20; rings++) {
      const before = heard();
      ring(bell);
      await until(() => heard() > before);
    }
  });
});

test("listenTo() hears a change that nobody was told of, at the next", async () => {
  const bell = newBell();
  await hearing(bell, async (heard) => {
    Atomics.add(bell.words, bell.index, 1);
    const before = heard();
    Atomics.notify(bell.words, bell.index);
    await until(() => heard() > before);
  });
});

test("a change that the listener makes itself is heard too", async () => {
  const bell = newBell();
  let heard = 0;
  const stop = listenTo(bell, () => {
    if (heard++ < 3) ring(bell);
  });
  await until(() => heard === 4);
  stop();
  await new Promise((resolve) => setTimeout(resolve, 2));
});

test("nothing is heard after the end, and other words ring for others", async () => {
  const bell = newBell();
  await hearing(bell, async (heard, stop) => {
    const before = heard();
    ring({ words: bell.words, index: 0 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    assertEquals(heard(), before);
    stop();
    ring(bell);
    await new Promise((resolve) => setTimeout(resolve, 5));
    assertEquals(heard(), before);
  });
});

/** Rings as often as it is told, as fast as it can. */
const RINGER = `onmessage = ({ data: { buffer, times } }) => {
  const words = new Int32Array(buffer);
  for (let time = 0; time < times; time++) {
    Atomics.add(words, 1, 1);
    Atomics.notify(words, 1);
  }
};`;

test("the last of many rings of another thread is never missed", async () => {
  const times = 20_000;
  const words = new Int32Array(new SharedArrayBuffer(8));
  let seen = 0;
  const stop = listenTo({ words, index: 1 }, () => {
    seen = Atomics.load(words, 1);
  });
  const source = `data:text/javascript,${encodeURIComponent(RINGER)}`;
  const worker = new Worker(source, { type: "module" });
  worker.postMessage({ buffer: words.buffer, times });
  try {
    await until(() => seen === times);
  } finally {
    worker.terminate();
    stop();
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
});
