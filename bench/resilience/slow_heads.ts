/**
 * How long a request head that stays half-sent keeps its connection: at the
 * gateway itself, and at HAProxy or nginx in front of it.
 *
 * Invariant: what stands in front has the settings that the README recommends,
 * and is shown to pass a stream event by event.
 *
 * @module
 */
import { startProgram } from "../end_to_end/processes.ts";
import { CPUS, freePort } from "./processes.ts";
import { startEngineProcess, startGateway } from "./programs.ts";
import { requestText, Wire } from "./wire.ts";

/** Seconds in which a head must be complete, where that can be said. */
const HEAD_SECONDS = 5;

/** How long a half-sent head is watched. */
const WATCH_SECONDS = 12;

/** Events of the stream that shows whether they come one by one. */
const TOKENS = 20;
const TOKEN_MS = 50;

/** One way to the gateway. */
export interface SlowHead {
  readonly name: string;
  /** Until the connection was closed; `undefined` when it stayed open. */
  readonly closedAfterMs: number | undefined;
  readonly watchedMs: number;
  /** From the first event of a stream to its end. */
  readonly streamMs: number;
}

/** Measures each way that is installed. */
export async function measureSlowHeads(
  binary: string | undefined,
): Promise<readonly SlowHead[]> {
  await using stack = new AsyncDisposableStack();
  const engine = stack.use(
    await startEngineProcess(new URL("../engine/main.ts", import.meta.url), [
      ...["--decode-ms-per-token", String(TOKEN_MS)],
    ]),
  );
  const gateway = stack.use(
    await startGateway({
      binary,
      workers: 1,
      config: [`endpoints: [http://127.0.0.1:${engine.port}]`],
    }),
  );
  const folder = await Deno.makeTempDir();
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const ways = [{ name: "the gateway alone", port: gateway.port }];
  for (const front of [haproxy, nginx]) {
    if (!await isInstalled(front.name)) continue;
    const port = freePort();
    const argv = await front({ folder, port, gatewayPort: gateway.port });
    stack.use(await startProgram(argv, { cpus: CPUS.load, port }));
    ways.push({ name: `${front.name} in front`, port });
  }
  return await Promise.all(
    ways.map(async ({ name, port }) => ({
      name,
      ...await watchHalfHead(port),
      streamMs: await streamSpanMs(port),
    })),
  );
}

/** A program in front of the gateway. */
interface Front {
  readonly folder: string;
  readonly port: number;
  readonly gatewayPort: number;
}

async function haproxy(front: Front): Promise<readonly string[]> {
  const file = `${front.folder}/haproxy.cfg`;
  await Deno.writeTextFile(
    file,
    `defaults
  mode http
  option http-no-delay
  option abortonclose
  timeout connect 3s
  timeout http-request ${HEAD_SECONDS}s
  timeout http-keep-alive 2m
  timeout client 1h
  timeout server 1h
  timeout tunnel 1h
frontend clients
  bind 127.0.0.1:${front.port}
  default_backend tryst
backend tryst
  server tryst 127.0.0.1:${front.gatewayPort}
`,
  );
  return ["haproxy", "-db", "-q", "-f", file];
}

async function nginx(front: Front): Promise<readonly string[]> {
  const { folder, port, gatewayPort } = front;
  const file = `${folder}/nginx.conf`;
  await Deno.writeTextFile(
    file,
    `daemon off; worker_processes 1; pid ${folder}/nginx.pid;
error_log ${folder}/nginx.log crit;
events { worker_connections 4096; }
http {
  access_log off;
  client_header_timeout ${HEAD_SECONDS}s;
  client_max_body_size 0;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://127.0.0.1:${gatewayPort};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_request_buffering off;
      proxy_read_timeout 1h;
    }
  }
}
`,
  );
  return ["nginx", "-c", file];
}

async function watchHalfHead(
  port: number,
): Promise<Pick<SlowHead, "closedAfterMs" | "watchedMs">> {
  using wire = await Wire.connect(port);
  const startedAt = performance.now();
  await wire.send("POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nx-");
  const ended = (async () => {
    // An error answer may come before the end.
    while (await wire.receive() !== undefined);
    return performance.now() - startedAt;
  })().catch(() => undefined);
  const watched = Promise.withResolvers<undefined>();
  const timer = setTimeout(
    () => watched.resolve(undefined),
    WATCH_SECONDS * 1_000,
  );
  const closedAfterMs = await Promise.race([ended, watched.promise]);
  clearTimeout(timer);
  return { closedAfterMs, watchedMs: performance.now() - startedAt };
}

/** Milliseconds between the first and the last event of a stream. */
async function streamSpanMs(port: number): Promise<number> {
  using wire = await Wire.connect(port);
  await wire.send(requestText("POST", "/v1/chat/completions", {
    body: JSON.stringify({
      model: "sim",
      stream: true,
      max_tokens: TOKENS,
      messages: [{ role: "user", content: "hello" }],
    }),
  }));
  let text = "";
  let firstAt: number | undefined;
  while (!text.includes("[DONE]")) {
    const piece = await wire.receive();
    if (piece === undefined) throw new Error("Cannot measure: a stream ended");
    text += piece;
    if (text.includes("data: ")) firstAt ??= performance.now();
  }
  return performance.now() - (firstAt ?? NaN);
}

async function isInstalled(name: string): Promise<boolean> {
  const { success } = await new Deno.Command("sh", {
    args: ["-c", `command -v ${name}`],
    stdout: "null",
    stderr: "null",
  }).output();
  return success;
}
