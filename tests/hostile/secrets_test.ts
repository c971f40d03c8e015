/**
 * What a client keeps to itself is told to its engine, and to nobody else.
 *
 * @module
 */
import { assert, assertFalse } from "@std/assert";
import { call } from "../gateway/raw_client.ts";
import { bare, post } from "../gateway/requests.ts";
import { test } from "../leakproof.ts";
import { startProgram } from "../privileges/program.ts";
import { ScriptedServer } from "../scripted_server.ts";

const KEY = "a-session-key-of-somebody";
const CREDENTIAL = "a-credential-of-somebody";
const PROMPT = "a-prompt-of-somebody";
const SECRETS = [KEY, CREDENTIAL, PROMPT];

/** Pages of the admin listener; those of other versions are not found. */
const PAGES = ["/metrics", "/endpoints", "/readyz", "/status", "/api/status"];

/** Answered, refused by the engine, broken off: each is told of differently. */
const ANSWERS = [
  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 2x0 malformed\r\n\r\n",
];

test("keys, credentials and prompts are in no log, metric, page or answer", async () => {
  let seen = "";
  let answer = ANSWERS[0] ?? "";
  await using engine = new ScriptedServer(async (peer) => {
    for (;;) {
      const request = await peer.request();
      if (request === "") return;
      const isOwn = request.startsWith("GET ");
      if (!isOwn) seen += request;
      await peer.send(isOwn ? ANSWERS[0] ?? "" : answer);
    }
  });
  if (engine.address.kind !== "tcp") throw new Error("Cannot be elsewhere");
  await using gateway = startProgram([
    ...["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
    ...["--workers", "1"],
    ...["--endpoint", `http://127.0.0.1:${engine.address.port}`],
  ]);
  const [, port] = await gateway.until("out", /listens on \S+:(\d+)/);
  const [, admin] = await gateway.until("out", /Admin on \S+:(\d+)/);
  await gateway.until("err", /endpoint.ready/);
  let told = "";
  for (answer of ANSWERS) {
    const body = JSON.stringify({ session_id: KEY, prompt: PROMPT });
    const secrets = [`Authorization: Bearer ${CREDENTIAL}`];
    told += (await call(Number(port), post("/v1/x", body, secrets))).raw;
    const headed = post("/v1/x", "{", [`X-Session-Id: ${KEY}`, ...secrets]);
    told += (await call(Number(port), headed)).raw;
  }
  for (const page of PAGES) {
    const request = bare("GET", page, ["Connection: close"]);
    told += (await call(Number(admin), request)).raw;
  }
  gateway.signal("SIGTERM");
  const { out, err } = await gateway.ended();
  told += out + err;
  for (const secret of SECRETS) {
    assert(seen.includes(secret), `the engine has not got "${secret}"`);
    assertFalse(told.includes(secret), told);
  }
});
