/**
 * The engine's APIs, as any HTTP client sees them.
 *
 * Invariant: whether the official clients accept the answers is proved with
 * these clients themselves, elsewhere; here is what they do not look at.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { type Engine, startEngine } from "./engine.ts";
import { parseEngineArguments } from "./main.ts";

async function post(engine: Engine, path: string, body: unknown) {
  const response = await fetch(engine.url + path, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

/** The data of each event. */
function eventsOf(text: string): string[] {
  return text.split("\n").filter((line) => line.startsWith("data: ")).map((
    line,
  ) => line.slice("data: ".length));
}

test("the engine answers errors in the shape of the API", async (t) => {
  await using engine = await startEngine({
    speed: Infinity,
    checksModel: true,
  });
  const rows = [
    { path: "/v1/chat/completions", body: "{", status: 400, key: "code" },
    { path: "/v1/chat/completions", body: "[]", status: 400, key: "code" },
    { path: "/v1/messages", body: "", status: 400, key: "type" },
    { path: "/v1/messages", body: { model: "x" }, status: 404, key: "type" },
    { path: "/v1/embeddings", body: { model: "x" }, status: 404, key: "code" },
    { path: "/v1/nothing", body: {}, status: 404, key: "code" },
    {
      path: "/v1/responses",
      body: { previous_response_id: "resp_other" },
      status: 404,
      key: "param",
    },
  ];
  for (const row of rows) {
    await t.step(`${row.path} ${JSON.stringify(row.body)}`, async () => {
      const { status, text } = await post(engine, row.path, row.body);
      assertEquals(status, row.status);
      assert(row.key in JSON.parse(text).error, text);
    });
  }
});

test("the engine validates nothing but JSON", async (t) => {
  await using engine = await startEngine({ speed: Infinity });
  const bodies: unknown[] = [
    {},
    { model: 7, messages: "none", max_tokens: "many", stream: "no" },
    { messages: [null, 1, { role: 1, content: [{ type: "image" }, 7] }] },
    { messages: [{ role: "user", content: null }], max_tokens: -1 },
    "\ufeff{}",
  ];
  for (const body of bodies) {
    for (
      const path of [
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/responses",
        "/v1/messages",
        "/v1/embeddings",
      ]
    ) {
      await t.step(`${path} ${JSON.stringify(body)}`, async () => {
        assertEquals((await post(engine, path, body)).status, 200);
      });
    }
  }
});

test("equal prompts get equal answers from different engines", async () => {
  await using one = await startEngine({ speed: Infinity, id: "one" });
  await using two = await startEngine({ speed: Infinity, id: "two" });
  const ask = async (engine: Engine, content: string) => {
    const messages = [{ role: "user", content }];
    const { text } = await post(engine, "/v1/chat/completions", { messages });
    return JSON.parse(text).choices[0].message.content;
  };
  const answer = await ask(one, "Hello");
  assertEquals(await ask(two, "Hello"), answer);
  assert(await ask(two, "Hello?") !== answer);
  assert(/^(?:[a-z]{3} )+[a-z]{3}$/.test(answer), answer);
});

test("a stream holds the same text as the whole answer", async (t) => {
  await using engine = await startEngine({ speed: Infinity });
  const body = {
    messages: [{ role: "user", content: "Hello" }],
    prompt: "Hello",
    "stream_options": { "include_usage": true },
  };
  for (const path of ["/v1/chat/completions", "/v1/completions"]) {
    await t.step(path, async () => {
      const whole = JSON.parse((await post(engine, path, body)).text);
      const { text } = await post(engine, path, { ...body, stream: true });
      const events = eventsOf(text);
      assertEquals(events.pop(), "[DONE]");
      const chunks = events.map((event) => JSON.parse(event));
      assertEquals(chunks.pop().usage, whole.usage);
      assertEquals(chunks.at(-1).choices[0].finish_reason, "stop");
      assertEquals(
        chunks.map(({ choices: [choice] }) =>
          choice.delta?.content ?? choice.text ?? ""
        ).join(""),
        whole.choices[0].message?.content ?? whole.choices[0].text,
      );
    });
  }
  await t.step("usage only when asked for", async () => {
    const { text } = await post(engine, "/v1/completions", { stream: true });
    assert(!text.includes("usage"));
  });
});

test("the next turn finds the conversation in the cache", async () => {
  await using engine = await startEngine({ speed: Infinity });
  const messages = [{ role: "user", content: "word ".repeat(100) }];
  const turn = async () => {
    const { text } = await post(engine, "/v1/chat/completions", {
      messages,
      max_tokens: 50,
    });
    const { choices, usage } = JSON.parse(text);
    messages.push(choices[0].message);
    messages.push({ role: "user", content: "And then?" });
    return usage;
  };
  const first = await turn();
  assertEquals(first.prompt_tokens_details.cached_tokens, 0);
  assertEquals(first.completion_tokens, 50);
  const second = await turn();
  const held = first.prompt_tokens + first.completion_tokens;
  const cached = second.prompt_tokens_details.cached_tokens;
  assert(cached > held - 32 && cached <= held, `${cached} of ${held}`);
  assertEquals(engine.stats.prefixHitTokens, cached);
  const metrics = await (await fetch(`${engine.url}/metrics`)).text();
  assert(
    metrics.includes(
      `vllm:prefix_cache_hits_total{engine="0",model_name="sim"} ${cached}\n`,
    ),
    metrics,
  );
});

test("a transcript that ends with a block is found to its last byte", async () => {
  await using engine = await startEngine({ speed: Infinity });
  // Marks of 8, 7, 13 and 7 bytes and an answer of 199 make 640: ten blocks.
  const messages = [{ role: "user", content: "x".repeat(406) }];
  const ask = async () =>
    JSON.parse(
      (await post(engine, "/v1/chat/completions", {
        messages,
        max_tokens: 50,
      })).text,
    );
  messages.push((await ask()).choices[0].message);
  messages.push({ role: "user", content: "And then?" });
  assertEquals((await ask()).usage.prompt_tokens_details.cached_tokens, 160);
});

test("a response is continued by its id, in its own cache", async () => {
  await using engine = await startEngine({ speed: Infinity });
  const ask = async (fields: Readonly<Record<string, unknown>>) =>
    JSON.parse((await post(engine, "/v1/responses", fields)).text);
  const first = await ask({ input: "long ".repeat(100) });
  const second = await ask({ input: "More", previous_response_id: first.id });
  assertEquals(second.previous_response_id, first.id);
  assert(second.usage.input_tokens > first.usage.input_tokens);
  assert(second.usage.input_tokens_details.cached_tokens > 100);
});

test("/v1/models lists what the engine serves, with the fields of vLLM", async () => {
  await using engine = await startEngine({ models: ["a", "b"] });
  const { data } = await (await fetch(`${engine.url}/v1/models`)).json();
  assertEquals(data.map((model: { id: string }) => model.id), ["a", "b"]);
  assertEquals(data[0].max_model_len, 131_072);
});

test("/echo tells what came, /echo/body gives it back", async () => {
  await using engine = await startEngine();
  const bytes = Uint8Array.of(0, 255, 128);
  const send = (path: string) =>
    fetch(engine.url + path, {
      method: "PUT",
      body: bytes,
      headers: { "content-type": "audio/wav" },
    });
  const told = await (await send("/echo?a=%2f")).json();
  assertEquals([told.method, told.target, told.body_base64], [
    "PUT",
    "/echo?a=%2f",
    "AP+A",
  ]);
  const given = await send("/echo/body");
  assertEquals(given.headers.get("content-type"), "audio/wav");
  assertEquals(new Uint8Array(await given.arrayBuffer()), bytes);
});

test("a fixed answer goes to every POST", async () => {
  await using engine = await startEngine({ fixedAnswer: '{"ok":true}' });
  assertEquals(
    (await post(engine, "/v1/chat/completions", "no JSON")).text,
    '{"ok":true}',
  );
});

test("parseEngineArguments() reads options and refuses others", () => {
  for (
    const args of [["--port"], ["--port", "x"], ["--port", ""], ["--no", "1"]]
  ) {
    assertThrows(() => parseEngineArguments(args), TypeError, args[0] ?? "");
  }
  assertEquals(parseEngineArguments([]), { port: 8000 });
  assertEquals(
    parseEngineArguments(
      ["--port", "0", "--model", "a", "--model", "b", "--batch-max", "2"],
    ),
    { port: 0, models: ["a", "b"], batchMax: 2 },
  );
});
