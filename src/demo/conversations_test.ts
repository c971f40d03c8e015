/**
 * Conversations against simulated engines.
 *
 * Invariant: the engines are real servers; only the gateway's headers are put
 * on by the test, by wrapping `fetch`.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import {
  type Engine,
  type EngineOptions,
  startEngine,
} from "../../bench/engine/engine.ts";
import { test } from "../../tests/leakproof.ts";
import {
  type ConversationEvent,
  type ConversationOptions,
  playConversations,
} from "./conversations.ts";

const INSTANT: EngineOptions = { speed: Infinity };

function optionsFor(
  engine: Engine,
  changes: Partial<ConversationOptions> = {},
): ConversationOptions {
  return {
    baseUrl: engine.url,
    model: "sim",
    conversationCount: 4,
    turnCount: 3,
    concurrency: 2,
    keyPlace: "mixed",
    name: "test",
    openingBytes: 1000,
    answerTokens: 8,
    signal: new AbortController().signal,
    ...changes,
  };
}

async function play(
  options: ConversationOptions,
): Promise<ConversationEvent[]> {
  return await Array.fromAsync(playConversations(options));
}

function bodyOf(body: Uint8Array | undefined): Record<string, unknown> {
  return JSON.parse(new TextDecoder().decode(body));
}

test("playConversations() reports what goes wrong and ends there", async (t) => {
  const rows = [
    { name: "an error", faults: { status: 503 }, message: /answer is 503 "\{/ },
    {
      name: "a stream that breaks off",
      faults: { truncateAfterBytes: 400 },
      message: /./,
    },
    { name: "a reset", faults: { resetBeforeHead: true }, message: /./ },
    { name: "no HTTP", faults: { garbage: true }, message: /./ },
    { name: "no stream", faults: { binary: true }, message: /broke off/ },
  ];
  for (const row of rows) {
    await t.step(row.name, async () => {
      await using engine = await startEngine(INSTANT);
      engine.faults.set(row.faults);
      const events = await play(optionsFor(engine, { conversationCount: 1 }));
      assertEquals(events.map(({ kind, turn }) => [kind, turn]), [
        ["failed", 0],
      ]);
      const [event] = events;
      assert(event?.kind === "failed" && row.message.test(event.message));
    });
  }
  await t.step("an error inside the stream", async () => {
    await using engine = await startEngine(INSTANT);
    const fetch = () =>
      Promise.resolve(
        new Response('data: {"error":{"message":"engine died"}}\n\n'),
      );
    const [event] = await play(
      optionsFor(engine, { conversationCount: 1, fetch }),
    );
    assert(event?.kind === "failed" && event.message.includes("engine died"));
  });
});

test("playConversations() grows the history by the engine's answers", async () => {
  await using engine = await startEngine(INSTANT);
  const events = await play(optionsFor(engine, { conversationCount: 1 }));
  const roles = engine.requests.map(({ body }) => {
    const { messages } = bodyOf(body);
    assert(Array.isArray(messages));
    return messages.map(({ role }) => role[0]).join("");
  });
  assertEquals(roles, ["uu", "uuau", "uuauau"]);
  const results = events.map((event) => {
    assert(event.kind === "turn");
    return event.result;
  });
  const messages = bodyOf(engine.requests[2]?.body)["messages"];
  assert(Array.isArray(messages));
  assertEquals(messages[2].content, results[0]?.text);
  assertEquals(results[0]?.cachedTokens, 0);
  for (const { promptTokens, cachedTokens } of results.slice(1)) {
    assert(cachedTokens > promptTokens * 0.8, `${cachedTokens}`);
  }
});

test("playConversations() puts the session id where it is told", async (t) => {
  const rows = [
    { keyPlace: "none", places: "----" },
    { keyPlace: "header", places: "hhhh" },
    { keyPlace: "body", places: "bbbb" },
    { keyPlace: "mixed", places: "hbhb" },
  ] as const;
  for (const { keyPlace, places } of rows) {
    await t.step(keyPlace, async () => {
      await using engine = await startEngine(INSTANT);
      await play(
        optionsFor(engine, { keyPlace, concurrency: 1, turnCount: 1 }),
      );
      const seen = engine.requests.map(({ headers, body }, at) => {
        const ids = [headers.get("x-session-id"), bodyOf(body)["session_id"]];
        for (const id of ids) assert((id ?? `test-${at}`) === `test-${at}`);
        assert(ids.includes(undefined), "never in both");
        return ids[0] !== undefined ? "h" : ids[1] !== undefined ? "b" : "-";
      });
      assertEquals(seen.join(""), places);
    });
  }
});

test("playConversations() keeps to its concurrency and plays every turn", async (t) => {
  for (const concurrency of [1, 3, 100]) {
    await t.step(`${concurrency} at once`, async () => {
      await using engine = await startEngine({ speed: 100 });
      let most = 0;
      let now = 0;
      const counting: typeof fetch = async (input, init) => {
        most = Math.max(most, ++now);
        try {
          return await fetch(input, init);
        } finally {
          now--;
        }
      };
      const events = await play(
        optionsFor(engine, {
          conversationCount: 7,
          concurrency,
          fetch: counting,
        }),
      );
      assertEquals(events.filter(({ kind }) => kind === "turn").length, 21);
      assert(most <= Math.min(7, concurrency), `${most}`);
      for (let conversation = 0; conversation < 7; conversation++) {
        const turns = events.filter((event) =>
          event.conversation === conversation
        ).map(({ turn }) => turn);
        assertEquals(turns, [0, 1, 2]);
      }
    });
  }
});

test("playConversations() reads what the gateway says of itself", async () => {
  await using engine = await startEngine(INSTANT);
  const named: typeof fetch = async (input, init) => {
    const { body } = await fetch(input, init);
    return new Response(body, {
      headers: { "x-tryst-endpoint": "gpu0", "x-tryst-affinity": "hit" },
    });
  };
  const [event] = await play(optionsFor(engine, { fetch: named }));
  assert(event?.kind === "turn");
  assertEquals([event.result.endpoint, event.result.affinity], ["gpu0", "hit"]);
  assert(event.result.firstTokenMs <= event.result.totalMs);
});

test("playConversations() ends at once when told, and leaves nothing", async (t) => {
  await t.step("by its signal, inside a request", async () => {
    await using engine = await startEngine({ prefillMsPerToken: 1e6 });
    const stop = new AbortController();
    const events = play(optionsFor(engine, { signal: stop.signal }));
    await engine.until((record) => record.isComplete);
    stop.abort();
    await engine.until((record) => record.clientClosedEarly);
    assertEquals(await events, []);
  });
  await t.step("by its signal, before it begins", async () => {
    await using engine = await startEngine(INSTANT);
    assertEquals(
      await play(optionsFor(engine, { signal: AbortSignal.abort() })),
      [],
    );
    assertEquals(engine.stats.requestCount, 0);
  });
  await t.step("by a reader who has seen enough", async () => {
    await using fast = await startEngine(INSTANT);
    await using slow = await startEngine({ prefillMsPerToken: 1e6 });
    const urls = [fast.url, slow.url];
    let turns = 0;
    const readOne = async () => {
      const options = optionsFor(fast, { baseUrl: () => urls[turns++] ?? "" });
      for await (const { kind } of playConversations(options)) return kind;
      return undefined;
    };
    const kind = readOne();
    await slow.until((record) => record.clientClosedEarly);
    assertEquals(await kind, "turn");
  });
});

test("playConversations() chooses a base URL for every turn when asked to", async () => {
  await using one = await startEngine(INSTANT);
  await using two = await startEngine(INSTANT);
  const engines = [one, two];
  let turns = 0;
  await play(
    optionsFor(one, { baseUrl: () => engines[turns++ % 2]?.url ?? "" }),
  );
  assertEquals([one.stats.requestCount, two.stats.requestCount], [6, 6]);
});
