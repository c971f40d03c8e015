/**
 * Plays an exchange over real sockets: a scripted engine, the gateway in this
 * process, and a client that sends bytes.
 *
 * Settings of an exchange:
 *
 * - `@config` and `@endpoint` (JSON): configuration of the gateway, and of its
 *   endpoint;
 * - `@keys TENANT:KEY TENANT:KEY`: the API keys of clients;
 * - `@models a b`: one engine for each model listed;
 * - `@engine leaves` or `never`: see `ScriptOptions.presence`;
 * - `@busy`: a request is in flight at the engine when the client's comes;
 * - `@uploads N`: the gateway waits for N small bodies when the client's comes;
 * - `@waiting`: the same request waits in the queue when the client's comes.
 *
 * Invariant: the inputs are the file's bytes; the outputs are what went over
 * the wire, masked.
 *
 * @module
 */
import { parseKeyLines } from "../../src/config/key_lines.ts";
import type { ApiKey } from "../../src/core/api_key.ts";
import type { Secrets } from "../../src/wiring/secrets.ts";
import type { Peer } from "../scripted_server.ts";
import { RawClient } from "../gateway/raw_client.ts";
import { bare } from "../gateway/requests.ts";
import { type ScriptOptions, withScript } from "../gateway/scripted_engine.ts";
import type { GatewayWorld } from "../gateway/world.ts";
import type { Exchange } from "./exchange_file.ts";
import { masked } from "./masks.ts";

/** Milliseconds that an engine waits for the client to see its bytes. */
const SEEN_WAIT_MS = 250;

/** Looks for what has to be known first, 5 ms apart: a second at most. */
const LOOKS_MAX = 200;

/** Where `@busy` holds its request. */
const HELD_TARGET = "/held";

/** An announced body of `@uploads`: the largest that is taken in one read. */
const UPLOAD_BYTES = 65_536;

const SETTINGS: readonly string[] = [
  "busy",
  "config",
  "endpoint",
  "engine",
  "keys",
  "models",
  "uploads",
  "waiting",
];

/**
 * The exchange as it went: the same inputs with the outputs of this run.
 *
 * @param more How the engine is set up besides.
 */
export async function playExchange(
  exchange: Exchange,
  more: Pick<ScriptOptions, "basePath" | "isNameless"> = {},
): Promise<Exchange> {
  const seen = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  let toUpstream: string | undefined;
  let played: Exchange | undefined;
  await withScript(
    async (peer, request) => {
      if (request.startsWith(`GET ${HELD_TARGET} `)) {
        held.resolve();
        return;
      }
      toUpstream = masked(request);
      await answer(peer, exchange, seen.promise);
    },
    async (world) => {
      const { port } = world;
      using holder = await RawClient.connect(port);
      if (exchange.settings.has("busy")) {
        await holder.send(bare("GET", HELD_TARGET, keyLines(exchange)));
        await held.promise;
      }
      using _uploads = await startUploads(world, exchange);
      using earlier = await RawClient.connect(port);
      if (exchange.settings.has("waiting")) {
        await earlier.send(exchange.fromClient);
        await untilWaiting(world);
      }
      using client = await RawClient.connect(port);
      await client.send(exchange.fromClient);
      const isHead = exchange.fromClient.startsWith("HEAD ");
      const { raw, isWhole } = await client.reply({
        isHead,
        onBytes: seen.resolve,
      });
      played = {
        ...exchange,
        toUpstream,
        toClient: masked(raw),
        isCutOff: !isWhole,
      };
    },
    { ...optionsOf(exchange), ...more },
  );
  if (played === undefined) throw new Error("Cannot have played nothing");
  return played;
}

/** Announces bodies that are never sent, and waits for them to be known. */
async function startUploads(
  { metric, port }: GatewayWorld,
  { settings }: Exchange,
): Promise<Disposable> {
  const count = Number(settings.get("uploads") ?? 0);
  const uploads: RawClient[] = [];
  for (let i = 0; i < count; i++) {
    const upload = await RawClient.connect(port);
    uploads.push(upload);
    const length = `Content-Length: ${UPLOAD_BYTES}`;
    await upload.send(bare("POST", "/upload", [length]));
  }
  for (let look = 0; look < LOOKS_MAX; look++) {
    if (await metric("tryst_requests_received_total") >= count) break;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return {
    [Symbol.dispose]: () => {
      for (const upload of uploads) upload.close();
    },
  };
}

async function untilWaiting({ gateway }: GatewayWorld): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    if (gateway.assembly.admission.waitingCount > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Sends the engine's bytes; goes on only once the client has seen some. */
async function answer(
  peer: Peer,
  exchange: Exchange,
  seen: Promise<void>,
): Promise<void> {
  const { fromUpstream = "", laterUpstream, upstreamCloses } = exchange;
  await peer.send(bytesOf(fromUpstream));
  if (laterUpstream !== undefined) {
    await orWaited(seen);
    await peer.send(bytesOf(laterUpstream));
  }
  if (!upstreamCloses) return;
  if (fromUpstream !== "") await orWaited(seen);
  peer.close();
}

/** A request of the first tenant, if there are any. */
function keyLines({ settings }: Exchange): string[] {
  const key = settings.get("keys")?.split(" ")[0]?.split(":")[1];
  return key === undefined ? [] : [`X-Api-Key: ${key}`];
}

function secretsOf(keys: string): Secrets<ApiKey> {
  const text = keys.split(" ").join("\n");
  return { keys: parseKeyLines(text), credentials: new Map() };
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

/** Some bytes are not to be seen before the end, so the wait has a limit. */
async function orWaited(seen: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const waited = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, SEEN_WAIT_MS);
  });
  await Promise.race([seen, waited]);
  clearTimeout(timer);
}

function optionsOf({ settings }: Exchange): ScriptOptions {
  for (const name of settings.keys()) {
    if (!SETTINGS.includes(name)) {
      throw new Error(`Cannot play the setting "${name}"`);
    }
  }
  const models = settings.get("models")?.split(" ").map((model) => [model]);
  const keys = settings.get("keys");
  const presence = settings.get("engine");
  if (
    presence !== undefined && presence !== "leaves" && presence !== "never"
  ) throw new Error(`Cannot play the engine's presence "${presence}"`);
  return {
    config: JSON.parse(settings.get("config") ?? "{}"),
    ...(models === undefined ? {} : { models }),
    ...(keys === undefined ? {} : { secrets: secretsOf(keys) }),
    ...(presence === undefined ? {} : { presence }),
    endpoints: [JSON.parse(settings.get("endpoint") ?? "{}")],
  };
}
