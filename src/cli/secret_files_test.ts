/**
 * Files of secrets are read by their owner's right alone, and no message shows
 * what is in them.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import type { EndpointSpec } from "../core/endpoint.ts";
import { digestOfKey } from "../core/tenants/api_keys.ts";
import { processEdge } from "./edge.ts";
import { readSecrets } from "./secret_files.ts";

const SECRET = "sk-0123456789abcdef";

/** What is read of an endpoint. */
function endpoint(file: string, header: string): EndpointSpec {
  const spec = { id: "e0", credential: { file, header } };
  return spec as EndpointSpec;
}

async function inFolder(
  body: (
    write: (text: string, mode?: number) => Promise<string>,
  ) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  let count = 0;
  try {
    await body(async (text, mode = 0o600) => {
      const path = `${folder}/${count++}`;
      await Deno.writeTextFile(path, text);
      await Deno.chmod(path, mode);
      return path;
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

test("readSecrets() refuses files that others may use, or that are of no use", async () => {
  await inFolder(async (write) => {
    const rows = [
      { file: await write(`red:${SECRET}`, 0o604), why: "chmod 600" },
      { file: await write(`red:${SECRET}`, 0o640), why: "chmod 600" },
      { file: await write(`red:${SECRET}`, 0o620), why: "chmod 600" },
      { file: await write(SECRET), why: "line 1" },
      { file: await write(`#${"x".repeat(2 ** 20)}`), why: "more than" },
      { file: await write(""), why: "no key" },
      { file: await write("# red: none yet\n"), why: "no key" },
      { file: `${await write("")}-absent`, why: "No such file" },
    ];
    for (const { file, why } of rows) {
      const config = { auth: { keysFile: file }, endpoints: [] };
      const error = await assertRejects(
        () => readSecrets(config, processEdge()),
        Error,
        why,
      );
      assert(error.message.startsWith(`Cannot read the API keys from file "`));
      assert(!error.message.includes(SECRET));
    }
  });
});

test("readSecrets() refuses credentials that no header can carry", async () => {
  await inFolder(async (write) => {
    for (const text of ["", "\n", `${SECRET}\n${SECRET}`, `${SECRET}\u00e9`]) {
      const file = await write(text);
      const endpoints = [endpoint(file, "authorization")];
      const config = { auth: { keysFile: undefined }, endpoints };
      const error = await assertRejects(
        () => readSecrets(config, processEdge()),
        Error,
        `Cannot read the credential of endpoint "e0" from file "${file}"`,
      );
      assert(!error.message.includes(SECRET));
    }
  });
});

test("readSecrets() reads keys and credentials, as their headers want them", async () => {
  await inFolder(async (write) => {
    const keysFile = await write(`# keys\nred:${SECRET}\n`);
    const file = await write(`${SECRET}\n`, 0o400);
    for (
      const [header, value] of [
        ["authorization", `Bearer ${SECRET}`],
        ["api-key", SECRET],
      ] as const
    ) {
      const endpoints = [endpoint(file, header)];
      const read = await readSecrets(
        { auth: { keysFile }, endpoints },
        processEdge(),
      );
      assertEquals(read.keys, [
        { tenant: "red", digest: digestOfKey(SECRET), expiresAtMs: undefined },
      ]);
      assertEquals([...read.credentials], [["e0", [header, value]]]);
    }
    const none = { auth: { keysFile: undefined }, endpoints: [] };
    const read = await readSecrets(none, processEdge());
    assertEquals([read.keys, read.credentials.size], [undefined, 0]);
  });
});

test("readSecrets() takes keys of the environment besides those of the file", async () => {
  await inFolder(async (write) => {
    const keysFile = await write(`red:${SECRET}`);
    const read = (value: string, file: string | undefined) =>
      readSecrets({ auth: { keysFile: file }, endpoints: [] }, {
        ...processEdge(),
        env: (name) => name === "TRYST_API_KEYS" ? value : undefined,
      });
    const other = "blue:blue-key-0123456789";
    const tenants = async (value: string, file: string | undefined) =>
      (await read(value, file)).keys?.map(({ tenant }) => tenant);
    assertEquals(await tenants(other, keysFile), ["red", "blue"]);
    assertEquals(await tenants(`${other},red:${SECRET}`, undefined), [
      "blue",
      "red",
    ]);
    // Set but empty lets nobody in, rather than everybody.
    assertEquals(await tenants("", undefined), []);
    for (const value of [SECRET, `blue:${SECRET}`]) {
      const error = await assertRejects(() => read(value, keysFile), Error);
      assert(error.message.includes("TRYST_API_KEYS"));
      assert(!error.message.includes(SECRET));
    }
  });
});
