/**
 * Nothing but arguments, configuration and its own variables says what the
 * gateway does.
 *
 * @module
 */
import { assert, assertEquals, assertFalse, assertMatch } from "@std/assert";
import { call } from "../gateway/raw_client.ts";
import { bare } from "../gateway/requests.ts";
import { test } from "../leakproof.ts";
import { ScriptedServer } from "../scripted_server.ts";
import { listeningPorts, startProgram } from "./program.ts";

const SERVE = [
  ...["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
  ...["--workers", "1"],
];

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** Where a gateway is, and what its engine has got. */
interface Place {
  readonly port: number;
  readonly admin: number;
  readonly pid: number;
  readonly requests: readonly string[];
}

/** Starts a gateway, waits until it serves, and gives what `look` sees. */
async function whileServing<T>(
  env: Readonly<Record<string, string>>,
  look: (at: Place) => Promise<T>,
): Promise<T> {
  const requests: string[] = [];
  await using engine = new ScriptedServer(async (peer) => {
    for (;;) {
      const request = await peer.request();
      if (request === "") return;
      requests.push(request);
      await peer.send(OK);
    }
  });
  if (engine.address.kind !== "tcp") throw new Error("Cannot be elsewhere");
  const url = `http://127.0.0.1:${engine.address.port}`;
  await using gateway = startProgram([...SERVE, "--endpoint", url], env);
  const [, port] = await gateway.until("out", /listens on \S+:(\d+)/);
  const [, admin] = await gateway.until("out", /Admin on \S+:(\d+)/);
  await gateway.until("err", /endpoint.ready/);
  return await look({
    port: Number(port),
    admin: Number(admin),
    pid: gateway.pid,
    requests,
  });
}

/** A port of loopback that nobody listens on. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

test("variables of the runtime move no listener and add none", async () => {
  const elsewhere = freePort();
  const address = `tcp:127.0.0.1:${elsewhere}`;
  const environments: readonly Readonly<Record<string, string>>[] = [
    {},
    { DENO_SERVE_ADDRESS: address },
    { DENO_SERVE_ADDRESS: `duplicate,${address}` },
    { DENO_AUTO_SERVE: "1", DENO_SERVE_AUTOMATIC_COMPRESSION: "1" },
  ];
  for (const env of environments) {
    await whileServing(env, async ({ port, admin, pid }) => {
      assertFalse([port, admin].includes(elsewhere));
      const wanted = [port, admin].sort((one, other) => one - other);
      assertEquals(await listeningPorts(pid), wanted, JSON.stringify(env));
    });
  }
});

test("a client does not say what its address is, whatever the runtime is told", async () => {
  const env = { DENO_TRUST_PROXY_HEADERS: "1" };
  await whileServing(env, async ({ port, requests }) => {
    const request = bare("GET", "/x", ["X-Forwarded-For: 192.0.2.1"]);
    assertEquals((await call(port, request)).status, 200);
    const seen = requests.find((text) => text.startsWith("GET /x ")) ?? "";
    assertMatch(seen, /^x-forwarded-for: 127\.0\.0\.1\r?$/m);
  });
});

test("proxies that the environment names get nothing", async () => {
  const proxied: string[] = [];
  await using proxy = new ScriptedServer(async (peer) => {
    await peer.receive();
    proxied.push(peer.received);
  });
  if (proxy.address.kind !== "tcp") throw new Error("Cannot be elsewhere");
  const url = `http://127.0.0.1:${proxy.address.port}`;
  const env = {
    HTTP_PROXY: url,
    "http_proxy": url,
    HTTPS_PROXY: url,
    ALL_PROXY: url,
    "all_proxy": url,
  };
  await whileServing(env, async ({ port, admin }) => {
    assertEquals((await call(port, bare("GET", "/x"))).body, "ok");
    assertEquals((await call(admin, bare("GET", "/readyz"))).status, 200);
    await using asked = startProgram([
      ...["endpoints", "--admin", `127.0.0.1:${admin}`],
    ], env);
    const { code, err } = await asked.ended();
    assertEquals(code, 0, err);
  });
  assertEquals(proxied, []);
  assertEquals(proxy.peers.length, 0);
});

test(
  "the executable has no inspector, whatever the environment says",
  async () => {
    const inspector = freePort();
    const env = {
      NODE_OPTIONS: `--inspect=127.0.0.1:${inspector}`,
      DENO_V8_FLAGS: "--expose-gc",
    };
    await whileServing(env, async ({ port, admin, pid }) => {
      const ports = await listeningPorts(pid);
      assertEquals(ports, [port, admin].sort((one, other) => one - other));
    });
  },
  // The runtime itself opens one: only the executable is without.
  { ignore: Deno.env.get("TRYST_BINARY") === undefined },
);

test("no flag takes a secret, so none is seen in the list of processes", async () => {
  for (const command of ["serve", "check", "demo", "endpoints", "drain"]) {
    await using help = startProgram([command, "--help"]);
    const { out } = await help.ended();
    const flags = [...out.matchAll(/--[a-z][\w-]*/g)].map(([flag]) => flag);
    assert(flags.length > 0, out);
    const telling = flags.filter((flag) =>
      /token|secret|password|credential|key/.test(flag) &&
      !/-file$|^--session-key$/.test(flag)
    );
    assertEquals(telling, [], command);
  }
});

test("a password in an address is refused, and shown by nobody", async () => {
  const secret = "hunter2hunter2";
  for (
    const url of [`http://me:${secret}@127.0.0.1:9`, `http://${secret}@h:9/x`]
  ) {
    await using gateway = startProgram([...SERVE, "--endpoint", url]);
    const { code, out, err } = await gateway.ended();
    assertEquals(code, 2);
    assertFalse((out + err).includes(secret), err);
  }
});
