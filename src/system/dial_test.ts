import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import {
  type Certificate,
  CertificateFolder,
} from "../../tests/certificates.ts";
import type { Address, Dial, Socket, UpstreamTls } from "../core/outside.ts";
import { createDial } from "./dial.ts";

const decoder = new TextDecoder();

/** Sends "ping" to a listener that answers "pong", and reads to the end. */
async function pingPong(
  listener: Deno.Listener<Deno.Conn>,
  dial: Dial,
  address: Address,
): Promise<string> {
  const served = (async () => {
    const conn = await listener.accept();
    const buffer = new Uint8Array(16);
    const count = await conn.read(buffer);
    await conn.write(new TextEncoder().encode("pong:"));
    await conn.write(buffer.subarray(0, count ?? 0));
    conn.close();
  })();
  const socket = await dial(address);
  const text = await exchange(socket);
  socket.close();
  socket.close();
  await served;
  return text;
}

async function exchange(socket: Socket): Promise<string> {
  await socket.write(new TextEncoder().encode("ping"));
  const buffer = new Uint8Array(16);
  let text = "";
  for (;;) {
    const count = await socket.read(buffer);
    if (count === null) return text;
    text += decoder.decode(buffer.subarray(0, count));
  }
}

function tcp(listener: Deno.Listener, tls = false): Address {
  const { port } = listener.addr as Deno.NetAddr;
  return { kind: "tcp", hostname: "127.0.0.1", port, tls };
}

/** An engine that answers once, and the certificate it wants of the gateway. */
async function openMutualEngine(
  own: Certificate,
  client: Certificate,
): Promise<AsyncDisposable & { readonly port: number }> {
  using free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = free.addr;
  free.close();
  const process = new Deno.Command("openssl", {
    args: [
      ...["s_server", "-accept", `127.0.0.1:${port}`, "-www", "-quiet"],
      ...["-cert", own.certFile, "-key", own.keyFile],
      ...["-Verify", "1", "-verify_return_error", "-partial_chain"],
      ...["-CAfile", client.certFile],
    ],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  for (let look = 0; look < 200; look++) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      break;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
  return {
    port,
    async [Symbol.asyncDispose]() {
      process.kill("SIGKILL");
      await process.status;
    },
  };
}

const AS_USUAL: UpstreamTls = {
  caFile: undefined,
  serverName: undefined,
  certFile: undefined,
  keyFile: undefined,
  insecure: false,
};

/** What a connection to `port` answers to a request. */
async function askOverTls(
  port: number,
  trust: Partial<UpstreamTls>,
): Promise<string> {
  const socket = await createDial()({
    kind: "tcp",
    hostname: "127.0.0.1",
    port,
    tls: true,
    trust: { ...AS_USUAL, ...trust },
  });
  try {
    await socket.write(new TextEncoder().encode("GET / HTTP/1.0\r\n\r\n"));
    const buffer = new Uint8Array(15);
    const count = await socket.read(buffer);
    return decoder.decode(buffer.subarray(0, count ?? 0));
  } finally {
    socket.close();
    socket.close();
  }
}

test("dial() says where it could not connect, and why", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const address = tcp(listener);
  listener.close();
  const dial = createDial();
  const refused = await assertRejects(() => dial(address), Error);
  assertStringIncludes(refused.message, `Cannot connect to "127.0.0.1:`);
  assertStringIncludes(refused.message, "refused");
  assertEquals(refused.cause instanceof Deno.errors.ConnectionRefused, true);
  await assertRejects(
    () => dial({ kind: "unix", path: "/nonexistent/engine.sock" }),
    Error,
    'Cannot connect to "unix:/nonexistent/engine.sock"',
  );
});

test("dial() opens TCP", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const text = await pingPong(listener, createDial(), tcp(listener));
  assertEquals(text, "pong:ping");
  listener.close();
});

test("dial() opens unix sockets", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/engine.sock`;
  const listener = Deno.listen({ transport: "unix", path });
  const text = await pingPong(listener, createDial(), { kind: "unix", path });
  assertEquals(text, "pong:ping");
  listener.close();
  await Deno.remove(folder, { recursive: true });
});

test("dial() opens TLS with a certificate it is told to trust", async () => {
  await using folder = await CertificateFolder.create();
  const { cert, key } = await folder.make("engine");
  const listener = Deno.listenTls({
    hostname: "127.0.0.1",
    port: 0,
    cert,
    key,
  });
  const dial = createDial({ caCerts: [cert] });
  const text = await pingPong(listener, dial, tcp(listener, true));
  assertEquals(text, "pong:ping");
  listener.close();
});

test("dial() refuses a certificate that nobody vouches for", async () => {
  await using folder = await CertificateFolder.create();
  const { cert, key } = await folder.make("engine");
  const listener = Deno.listenTls({
    hostname: "127.0.0.1",
    port: 0,
    cert,
    key,
  });
  const served = (async () => {
    const conn = await listener.accept();
    await conn.read(new Uint8Array(1)).catch(() => {});
    conn.close();
  })();
  const error = await assertRejects(
    () => createDial()(tcp(listener, true)),
    Error,
  );
  assertStringIncludes(error.message, "certificate");
  await served;
  listener.close();
});

test("dial() gives up a TLS handshake that never comes", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepted = listener.accept();
  const giveUp = new AbortController();
  const dialing = createDial()(tcp(listener, true), giveUp.signal);
  const failed = assertRejects(() => dialing, Error, "Cannot connect");
  const conn = await accepted;
  await conn.read(new Uint8Array(1024));
  giveUp.abort();
  await failed;
  conn.close();
  listener.close();
});

test("dial() that is given up before it begins opens nothing", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await assertRejects(
    () => createDial()(tcp(listener), AbortSignal.abort()),
    Error,
    "Cannot connect",
  );
  listener.close();
});

test("close() makes a pending read reject", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const socket = await createDial()(tcp(listener));
  const conn = await listener.accept();
  const failed = assertRejects(() => socket.read(new Uint8Array(1)));
  socket.close();
  await failed;
  conn.close();
  listener.close();
});

test("dial() verifies by the endpoint's own CA and name, and shows what it is told to", async () => {
  await using folder = await CertificateFolder.create();
  const own = await folder.make("engine", ["gpu.internal"]);
  const client = await folder.make("client");
  const other = await folder.make("other");
  const { certFile: caFile } = own;
  const { certFile, keyFile } = client;
  await using engine = await openMutualEngine(own, client);
  const shown = { certFile, keyFile };
  const refused: [name: string, trust: Partial<UpstreamTls>][] = [
    ["no CA", shown],
    ["another CA", { ...shown, caFile: other.certFile }],
    ["another name", { ...shown, caFile, serverName: "other.internal" }],
    ["no certificate", { caFile }],
    ["another certificate", { ...other, caFile }],
    ["a missing file", { ...shown, caFile: `${folder.path}/none` }],
  ];
  for (const [name, trust] of refused) {
    const asked = await askOverTls(engine.port, trust).catch(() => "refused");
    assertEquals(asked === "" ? "refused" : asked, "refused", name);
  }
  const taken: [name: string, trust: Partial<UpstreamTls>][] = [
    ["its CA", { ...shown, caFile }],
    ["its name", { ...shown, caFile, serverName: "gpu.internal" }],
    ["insecure", { ...shown, insecure: true }],
  ];
  for (const [name, trust] of taken) {
    assertEquals(await askOverTls(engine.port, trust), "HTTP/1.0 200 ok", name);
  }
});

test("dial() verifies by CA and name without a certificate of its own", async () => {
  await using folder = await CertificateFolder.create();
  const own = await folder.make("engine", ["gpu.internal"]);
  const listener = Deno.listenTls({
    hostname: "127.0.0.1",
    port: 0,
    cert: own.cert,
    key: own.key,
  });
  const address = tcp(listener, true) as Address & { kind: "tcp" };
  const table: Partial<UpstreamTls>[] = [
    { caFile: own.certFile },
    { caFile: own.certFile, serverName: "gpu.internal" },
    { insecure: true },
  ];
  for (const trust of table) {
    const text = await pingPong(listener, createDial(), {
      ...address,
      trust: { ...AS_USUAL, ...trust },
    });
    assertEquals(text, "pong:ping");
  }
  listener.close();
});
