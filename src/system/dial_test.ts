import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import type { Address, Dial, Socket } from "../core/outside.ts";
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

/** A self-signed certificate for 127.0.0.1, made for this test alone. */
async function certificate(): Promise<{ cert: string; key: string }> {
  const folder = await Deno.makeTempDir();
  try {
    const { success, stderr } = await new Deno.Command("openssl", {
      args: [
        ...["req", "-x509", "-newkey", "ec", "-days", "1", "-nodes"],
        ...["-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=engine"],
        ...["-addext", "subjectAltName=IP:127.0.0.1"],
        ...["-addext", "basicConstraints=critical,CA:FALSE"],
        ...["-keyout", `${folder}/key.pem`, "-out", `${folder}/cert.pem`],
      ],
    }).output();
    assertEquals(success, true, decoder.decode(stderr));
    return {
      cert: await Deno.readTextFile(`${folder}/cert.pem`),
      key: await Deno.readTextFile(`${folder}/key.pem`),
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
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
  const { cert, key } = await certificate();
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
  const { cert, key } = await certificate();
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
