/**
 * The feed of events: its timer, its bounds, and what a failure does to it.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { MadeUpGateway } from "../../../tests/dashboard/made_up_gateway.ts";
import { Problem } from "../problem.ts";
import { EventFeed, LISTENERS_MAX } from "./event_feed.ts";

const REQUEST = new Request("http://localhost/events");

async function firstOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const { value } = await reader?.read() ?? {};
  await reader?.cancel();
  return new TextDecoder().decode(value);
}

async function withFeed(
  body: (feed: EventFeed, failures: unknown[]) => Promise<void>,
  isBroken = false,
): Promise<void> {
  await using gateway = new MadeUpGateway();
  const failures: unknown[] = [];
  const feed = new EventFeed({
    status: () => {
      if (isBroken) throw new Error("planted");
      return gateway.status();
    },
    failed: (error) => failures.push(error),
  });
  try {
    await body(feed, failures);
  } finally {
    feed.close();
  }
}

test("EventFeed has a timer while somebody listens, and only then", async () => {
  await withFeed(async (feed) => {
    assertEquals(feed.isTicking, false);
    const [a, b] = [feed.open(REQUEST), feed.open(REQUEST)];
    assertEquals([feed.isTicking, feed.listenerCount], [true, 2]);
    await a.body?.cancel();
    assertEquals([feed.isTicking, feed.listenerCount], [true, 1]);
    await b.body?.cancel();
    assertEquals([feed.isTicking, feed.listenerCount], [false, 0]);
    assertEquals(a.headers.get("content-type"), "text/event-stream");
  });
});

test("EventFeed sends a whole status at once", async () => {
  await withFeed(async (feed) => {
    const text = await firstOf(feed.open(REQUEST));
    const data = /^data: (.*)\n\n$/.exec(text)?.[1] ?? "";
    assertEquals(JSON.parse(data).endpoints.length, 4);
  });
});

test("EventFeed opens nothing for HEAD", async () => {
  await withFeed((feed) => {
    const request = new Request(REQUEST, { method: "HEAD" });
    assertEquals(feed.open(request).body, null);
    assertEquals(feed.isTicking, false);
    return Promise.resolve();
  });
});

test("EventFeed refuses one listener more than its bound", async () => {
  await withFeed(async (feed) => {
    const open = Array.from(
      { length: LISTENERS_MAX },
      () => feed.open(REQUEST),
    );
    const problem = assertThrows(() => feed.open(REQUEST), Problem);
    assertEquals(problem.status, 503);
    await open[0]?.body?.cancel();
    await feed.open(REQUEST).body?.cancel();
    for (const response of open.slice(1)) await response.body?.cancel();
  });
});

test("EventFeed ends its answers when it is closed, and opens no more", async () => {
  await withFeed(async (feed) => {
    const response = feed.open(REQUEST);
    feed.close();
    assertEquals(await response.text(), "");
    assertEquals(feed.isTicking, false);
    assertThrows(() => feed.open(REQUEST), Problem, "stopping");
  });
});

test("EventFeed tells of a status that fails, and goes on", async () => {
  await withFeed(async (feed, failures) => {
    const response = feed.open(REQUEST);
    await Promise.resolve();
    assert(failures.length > 0);
    assertEquals(feed.isTicking, true);
    await response.body?.cancel();
  }, true);
});
