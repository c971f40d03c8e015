/**
 * An engine of the chaos, in a process of its own, so that it can be killed
 * and stopped as processes are: `engine_process.ts PORT SEED`.
 *
 * It reads strictly, answers what `expected.ts` says, echoes in WebSockets,
 * and writes an account of what it read, one line of JSON each, at once:
 * what it has begun stays known when it is killed.
 *
 * Invariant: a request is in the account before any of its answer is written.
 *
 * @module
 */
import { resetConnection } from "../../bench/engine/reset.ts";
import { frame } from "../gateway/websocket_frames.ts";
import { welcome } from "../gateway/websocket_hello.ts";
import { Chance, hashText } from "../simulation/chance.ts";
import {
  type ReadRequest,
  RequestReader,
} from "../simulation/request_reader.ts";
import { piecesOf, wishOf } from "./expected.ts";
import type { Fault, Mode } from "./faults.ts";
import { FrameReader, OPCODES } from "./frames.ts";
import type { EngineRecord } from "./journal.ts";

/** What `slow` waits for before a head and between events. */
const SLOW_MS = 300;

/** The port of a killed engine may take a moment to be free. */
const LISTEN_TRIES = 50;
const LISTEN_PAUSE_MS = 100;

const encoder = new TextEncoder();

/** Paths of probes, which carry no id and always pass while it runs. */
const PROBES: ReadonlySet<string> = new Set([
  "/health",
  "/v1/models",
  "/metrics",
]);

let fault: Fault = { mode: "well", share: 0 };

function account(record: EngineRecord): void {
  Deno.stdout.writeSync(encoder.encode(`${JSON.stringify(record)}\n`));
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}

/** One connection of the gateway. */
class Connection {
  readonly #conn: Deno.TcpConn;
  readonly #chance: Chance;
  readonly #reader: RequestReader;
  #tunnel: FrameReader | undefined;
  #isOpen = true;
  #request: ReadRequest | undefined;

  constructor(conn: Deno.TcpConn, chance: Chance) {
    this.#conn = conn;
    this.#chance = chance;
    this.#reader = new RequestReader({
      onHead: (request) => this.#begin(request),
      onWhole: (_request, body) => this.#answerWhole(body),
      onRefused: (reason) => {
        account({ kind: "refused", reason });
        this.close();
      },
    });
  }

  /** Reads until the connection ends. */
  async run(): Promise<void> {
    const buffer = new Uint8Array(65_536);
    try {
      this.#conn.setNoDelay(true);
      for (;;) {
        const count = await this.#conn.read(buffer);
        if (count === null) break;
        const bytes = buffer.slice(0, count);
        if (this.#tunnel === undefined) this.#reader.push(bytes);
        else await this.#echo(this.#tunnel, bytes);
      }
    } catch {
      // A reset ends a connection as its end does.
    } finally {
      this.close();
    }
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#conn.close();
  }

  #begin(request: ReadRequest): void {
    this.#request = request;
    const id = request.headers.get("x-request-id");
    if (PROBES.has(request.target) || id === undefined) return;
    account({ kind: "head", id, method: request.method });
  }

  #answerWhole(body: string): void {
    const request = this.#request;
    if (request === undefined) return;
    const id = request.headers.get("x-request-id") ?? "";
    const isProbe = PROBES.has(request.target);
    if (!isProbe) account({ kind: "whole", id, bodyHash: hashText(body) });
    // The gateway may close at any moment of an answer.
    this.#answer(request, id, isProbe).catch(() => this.close());
  }

  async #answer(
    request: ReadRequest,
    id: string,
    isProbe: boolean,
  ): Promise<void> {
    if (isProbe) return await this.#write(whole(200, "{}"));
    const mode = this.#chance.happens(fault.share) ? fault.mode : "well";
    if (mode === "hang") return;
    if (mode === "slow") await pause(SLOW_MS);
    if (mode === "reset_head") return this.#reset();
    if (mode === "garbage") {
      await this.#write("\x16\x03\x01 this is not HTTP\n\n\r\n\r\n");
      return this.close();
    }
    if (request.headers.get("upgrade") !== undefined) {
      this.#tunnel = new FrameReader();
      const lines = [...request.headers].map(([name, value]) =>
        `\r\n${name}: ${value}`
      );
      return await this.#write(welcome(`${lines.join("")}\r\n`));
    }
    if (mode === "busy") return await this.#write(BUSY);
    if (mode === "failing") return await this.#write(whole(500, "{}"));
    await this.#answerWish(request.target, id, mode);
    if (mode === "closing") this.close();
  }

  async #answerWish(target: string, id: string, mode: Mode): Promise<void> {
    const wish = wishOf(target);
    const pieces = piecesOf(wish, id);
    const isStream = wish.events > 0;
    const cutAt = mode === "reset_body" || mode === "cut_body"
      ? Math.floor(pieces.length / 2)
      : undefined;
    if (!isStream) await pause(wish.pauseMs);
    const length = encoder.encode(pieces.join("")).length;
    await this.#write(isStream ? STREAM_HEAD : sizedHead(200, length));
    for (const [n, piece] of pieces.entries()) {
      if (!this.#isOpen) return;
      if (n === cutAt) {
        await this.#write(isStream ? "" : piece.slice(0, piece.length / 2));
        if (mode === "cut_body") return this.close();
        return this.#reset();
      }
      await this.#write(isStream ? chunk(piece) : piece);
      if (isStream) await pause(mode === "slow" ? SLOW_MS : wish.pauseMs);
    }
    if (isStream) await this.#write(chunk(""));
  }

  async #echo(tunnel: FrameReader, bytes: Uint8Array): Promise<void> {
    for (const { opcode, payload } of tunnel.push(bytes)) {
      if (opcode === OPCODES.text) {
        await this.#write(frame({ opcode }, payload));
      }
      if (opcode === OPCODES.ping) {
        await this.#write(frame({ opcode: opcode + 1 }, payload));
      }
      if (opcode === OPCODES.close) {
        await this.#write(frame({ opcode }, payload));
        this.close();
      }
    }
  }

  #reset(): void {
    if (!this.#isOpen) return;
    resetConnection(this.#conn);
    this.close();
  }

  async #write(what: string | Uint8Array): Promise<void> {
    if (!this.#isOpen) return;
    const bytes = typeof what === "string" ? encoder.encode(what) : what;
    for (let at = 0; at < bytes.length;) {
      at += await this.#conn.write(bytes.subarray(at));
    }
  }
}

function sizedHead(status: number, length: number): string {
  return `HTTP/1.1 ${status} Some Reason\r\n` +
    `content-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;
}

function whole(status: number, body: string): string {
  return sizedHead(status, body.length) + body;
}

const BUSY = whole(503, "{}").replace("\r\n", "\r\nretry-after: 1\r\n");

const STREAM_HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n" +
  "transfer-encoding: chunked\r\n\r\n";

/** One chunk; the last one for nothing. */
function chunk(text: string): string {
  return `${encoder.encode(text).length.toString(16)}\r\n${text}\r\n`;
}

async function listen(port: number): Promise<Deno.TcpListener> {
  for (let tries = 1;; tries++) {
    try {
      return Deno.listen({ hostname: "127.0.0.1", port });
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
      if (tries === LISTEN_TRIES) throw error;
      await pause(LISTEN_PAUSE_MS);
    }
  }
}

/** Obeys lines on standard input; ends with it, as the parent has then. */
async function obey(): Promise<void> {
  let text = "";
  const input = Deno.stdin.readable.pipeThrough(new TextDecoderStream());
  for await (const piece of input) {
    text += piece;
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) fault = JSON.parse(line);
  }
  Deno.exit(0);
}

async function main(port: number, seed: number): Promise<void> {
  const chance = new Chance(seed);
  const listener = await listen(port);
  obey();
  Deno.stdout.writeSync(encoder.encode("listening\n"));
  for (let number = 0;; number++) {
    const conn = await listener.accept();
    new Connection(conn, chance.fork(`connection ${number}`)).run();
  }
}

if (import.meta.main) await main(Number(Deno.args[0]), Number(Deno.args[1]));
