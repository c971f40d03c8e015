/**
 * The admin token: where it may be, and what is said when it is not.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { adminListenComplaint, readAdminToken } from "./admin_token.ts";
import { type Edge, processEdge } from "./edge.ts";

const TOKEN = "0123456789abcdef";

function edgeOf(token?: string): Edge {
  const env = (name: string) =>
    name === "TRYST_ADMIN_TOKEN" ? token : undefined;
  return { ...processEdge(), env };
}

async function withFile(
  text: string,
  mode: number,
  body: (path: string) => Promise<void>,
): Promise<void> {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, text);
    await Deno.chmod(path, mode);
    await body(path);
  } finally {
    await Deno.remove(path);
  }
}

test("readAdminToken() refuses files that others can use, and weak tokens", async () => {
  const rows: readonly [text: string, mode: number, message: string][] = [
    [TOKEN, 0o644, "chmod 600"],
    [TOKEN, 0o602, "chmod 600"],
    [TOKEN, 0o601, "chmod 600"],
    ["", 0o600, "current value has 0"],
    ["\n", 0o600, "current value has 0"],
    [TOKEN.slice(1), 0o600, "current value has 15"],
    [`${TOKEN} ${TOKEN}`, 0o600, "visible ASCII"],
    [`${TOKEN}\n${TOKEN}`, 0o600, "visible ASCII"],
    [`${TOKEN}é`, 0o600, "visible ASCII"],
    ["x".repeat(1_025), 0o600, "current value has 1025"],
    ["x".repeat(2_049), 0o600, "Cannot read more than"],
  ];
  for (const [text, mode, message] of rows) {
    await withFile(text, mode, async (path) => {
      const error = await assertRejects(
        () => readAdminToken(path, edgeOf()),
        Error,
        message,
      );
      assert(error.message.startsWith("Cannot "), error.message);
      assert(!error.message.includes(TOKEN.slice(1)), error.message);
    });
  }
  await assertRejects(
    () => readAdminToken("/nowhere/token", edgeOf()),
    Error,
    'Cannot read the admin token from file "/nowhere/token"',
  );
  await assertRejects(
    () => readAdminToken(undefined, edgeOf("short")),
    Error,
    "Cannot use the admin token of TRYST_ADMIN_TOKEN",
  );
});

test("readAdminToken() takes the variable before the file", async () => {
  assertEquals(await readAdminToken(undefined, edgeOf()), undefined);
  for (const mode of [0o600, 0o640, 0o440]) {
    await withFile(`${TOKEN}\n`, mode, async (path) => {
      assertEquals(await readAdminToken(path, edgeOf()), TOKEN);
      const other = "another-token-of-24-chars";
      assertEquals(await readAdminToken(path, edgeOf(other)), other);
    });
  }
});

test("adminListenComplaint() wants a token beyond loopback", () => {
  const base = { metricsOpen: "auto" } as const;
  const rows: readonly [
    hostname: string,
    file: string | undefined,
    token: string | undefined,
    isFine: boolean,
  ][] = [
    ["0.0.0.0", undefined, undefined, false],
    ["::", undefined, undefined, false],
    ["gateway.internal", undefined, undefined, false],
    ["0.0.0.0", "/token", undefined, true],
    ["0.0.0.0", undefined, TOKEN, true],
    ["127.0.0.1", undefined, undefined, true],
    ["::1", undefined, undefined, true],
    ["localhost", undefined, undefined, true],
  ];
  for (const [hostname, tokenFile, token, isFine] of rows) {
    const listen = { hostname, port: 8081 };
    const admin = { ...base, listen, tokenFile };
    const complaint = adminListenComplaint(admin, edgeOf(token));
    assertEquals(complaint === undefined, isFine, hostname);
    if (complaint !== undefined) assert(complaint.includes(hostname));
  }
});
