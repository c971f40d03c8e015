/**
 * A relayed body ends once, and never looks complete when it is not.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import type { BodySource } from "../core/body.ts";
import { GatewayError } from "../core/error.ts";
import { test } from "../../tests/leakproof.ts";
import { RelayedBody, type RelayEnd, type RelayOptions } from "./relay.ts";

/** A source that yields the chunks, then fails if told to. */
class ListedBody implements BodySource {
  readonly length = undefined;
  readonly #chunks: Uint8Array[];
  readonly #failure: Error | undefined;
  isCancelled = false;

  constructor(chunks: string[], failure?: Error) {
    this.#chunks = chunks.map((chunk) => new TextEncoder().encode(chunk));
    this.#failure = failure;
  }

  read(): Promise<Uint8Array | undefined> {
    const chunk = this.#chunks.shift();
    if (chunk === undefined && this.#failure !== undefined) {
      return Promise.reject(this.#failure);
    }
    return Promise.resolve(chunk);
  }

  cancel(): void {
    this.isCancelled = true;
  }
}

function options(ends: RelayEnd[], isEvents: boolean): RelayOptions {
  return {
    errorEvent: isEvents ? (error) => `data: ${error.code}\n\n` : undefined,
    asError: (cause) => new GatewayError("upstream_reset", { cause }),
    drainsWhenGone: false,
    onBytes: () => {},
    onEnd: (end) => ends.push(end),
  };
}

async function textOf(body: BodySource): Promise<string> {
  let text = "";
  for (;;) {
    const chunk = await body.read();
    if (chunk === undefined) return text;
    text += new TextDecoder().decode(chunk);
  }
}

test("a complete body passes and ends once", async () => {
  const ends: RelayEnd[] = [];
  const body = new RelayedBody(
    new ListedBody(["a", "bc"]),
    options(ends, true),
  );
  assertEquals(await textOf(body), "abc");
  body.cancel();
  assertEquals(ends, [{ kind: "complete" }]);
});

test("a broken event stream says why, then rejects (E10 dynamo #791)", async () => {
  const rows: [sent: string, event: string][] = [
    ["data: 1\n\n", "data: upstream_reset\n\n"],
    ['data: {"cut', "\n\ndata: upstream_reset\n\n"],
  ];
  for (const [sent, event] of rows) {
    const ends: RelayEnd[] = [];
    const source = new ListedBody([sent], new Error("reset"));
    const body = new RelayedBody(source, options(ends, true));
    await body.read();
    assertEquals(new TextDecoder().decode(await body.read()), event);
    await assertRejects(() => body.read(), GatewayError);
    assertEquals(ends.map((end) => end.kind), ["broken"]);
  }
});

test("any other broken body rejects at once", async () => {
  const ends: RelayEnd[] = [];
  const source = new ListedBody(["half"], new Error("reset"));
  const body = new RelayedBody(source, options(ends, false));
  await body.read();
  await assertRejects(() => body.read(), GatewayError);
  assertEquals(ends.map((end) => end.kind), ["broken"]);
});

test("a client that leaves stops the engine, and is counted once", () => {
  const ends: RelayEnd[] = [];
  const source = new ListedBody(["a", "b"]);
  const body = new RelayedBody(source, options(ends, true));
  body.cancel();
  body.cancel();
  assertEquals(source.isCancelled, true);
  assertEquals(ends, [{ kind: "client_gone" }]);
});
