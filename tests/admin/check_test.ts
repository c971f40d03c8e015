/**
 * `tryst check` and `tryst serve` over the same files, each as a process: what
 * the one refuses the other refuses, in the same words.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { CertificateFolder } from "../certificates.ts";
import { test } from "../leakproof.ts";
import { startProgram } from "./program.ts";

const ENDPOINT = 'endpoints: [{ id: e, url: "http://127.0.0.1:1" }]';

/** A token and a key of a length that is taken. */
const SECRET = "secret-0123456789abcdef";

async function run(
  command: string,
  file: string,
): Promise<{ code: number; out: string; err: string }> {
  const { process } = startProgram([
    ...[command, "--config", file],
    ...["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
  ]);
  await using running = process;
  return await running.ended();
}

test("check refuses what serve refuses of the files that a configuration names", async () => {
  await using folder = await CertificateFolder.create();
  const { path } = folder;
  const [one, other] = [await folder.make("one"), await folder.make("other")];
  const secret = async (name: string, text: string, mode = 0o600) => {
    await Deno.writeTextFile(`${path}/${name}`, text, { mode });
    await Deno.chmod(`${path}/${name}`, mode);
    return `${path}/${name}`;
  };
  const none = `${path}/none`;
  const open = await secret("open", SECRET, 0o644);
  const short = await secret("short", "x");
  const credential = (file: string) =>
    'endpoints: [{ id: e, url: "http://127.0.0.1:1", credential_file: ' +
    `"${file}" }]`;
  const tls = (cert: string, key: string) =>
    `tls: { cert_file: "${cert}", key_file: "${key}" }\n${ENDPOINT}`;
  const table: [config: string, complaint: RegExp][] = [
    [`admin: { token_file: "${none}" }\n${ENDPOINT}`, /admin token .*No such/],
    [`admin: { token_file: "${short}" }\n${ENDPOINT}`, /16 to 1024/],
    [`auth: { keys_file: "${none}" }\n${ENDPOINT}`, /API keys .*No such/],
    [`auth: { keys_file: "${open}" }\n${ENDPOINT}`, /others may use it/],
    [`auth: { keys_file: "${short}" }\n${ENDPOINT}`, /line 1/],
    [credential(none), /credential of endpoint "e" .*No such/],
    [tls(none, one.keyFile), /Cannot read ".*none" for TLS: No such/],
    [tls(one.certFile, other.keyFile), /Cannot use the certificate of/],
    [tls(one.certFile, short), /Cannot use the certificate of/],
  ];
  for (const [config, complaint] of table) {
    const file = await secret("tryst.yaml", `workers: 1\n${config}`, 0o644);
    const [checked, served] = [
      await run("check", file),
      await run("serve", file),
    ];
    assertEquals([checked.code, checked.out], [2, ""], config);
    assertMatch(checked.err, complaint);
    assertEquals(checked.err.includes(SECRET), false);
    assertEquals([served.code, served.err], [2, checked.err]);
  }
  const good = [
    `admin: { token_file: "${await secret("token", SECRET)}" }`,
    `auth: { keys_file: "${await secret("keys", `red:${SECRET}`)}" }`,
    tls(one.certFile, one.keyFile),
  ].join("\n");
  const { code, err, out } = await run(
    "check",
    await secret("tryst.yaml", good, 0o644),
  );
  assertEquals([code, err], [0, ""]);
  assertMatch(out, /^OK\n/);
});
