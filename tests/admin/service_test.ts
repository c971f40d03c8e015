/**
 * A real gateway and what its service manager and the journal get, with the
 * permissions of `deno task start` and no others.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import project from "../../deno.json" with { type: "json" };
import { Running } from "../binary/executable.ts";
import { CertificateFolder } from "../certificates.ts";
import { test } from "../leakproof.ts";
import { NotifyReceiver } from "./notify_receiver.ts";
import { startProgram } from "./program.ts";

const MAIN = new URL("../../main.ts", import.meta.url).href;

/** The gateway with workers that hang when they are told to. */
const MORTAL = new URL("./mortal_gateway.ts", import.meta.url);

/** The permissions that the program is run with. */
const PERMISSIONS = project.tasks.start.split(" ")
  .filter((word) => word.startsWith("--allow-") || word === "--no-prompt");

/** A gateway on free ports, before an endpoint where nobody listens. */
const SERVE = [
  ...["serve", "--endpoint", "http://127.0.0.1:9", "--workers", "2"],
  ...["--listen", "127.0.0.1:0"],
];
const ADMIN = ["--admin", "127.0.0.1:0"];

/** Has the shell say which stream standard error is, as systemd does. */
const AS_JOURNAL = 'JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) "$@"';

/** Starts the runtime with these permissions. */
function start(
  args: readonly string[],
  { env = {}, shell = '"$@"' }: {
    readonly env?: Readonly<Record<string, string>>;
    /** What the shell does with the command line. */
    readonly shell?: string;
  } = {},
): Running {
  const child = new Deno.Command("sh", {
    args: [
      ...["-c", shell.replace('"$@"', 'exec "$@"'), "sh"],
      ...[Deno.execPath(), "run", ...PERMISSIONS, ...args],
    ],
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
  return new Running(child.spawn());
}

test("serve tells its service manager READY, STATUS, WATCHDOG and STOPPING", async () => {
  await using receiver = await NotifyReceiver.listen();
  await using process = start([MAIN, ...SERVE, ...ADMIN], {
    env: { NOTIFY_SOCKET: receiver.address, WATCHDOG_USEC: "400000" },
  });
  const [ready = ""] = await receiver.take(1);
  assertMatch(
    ready,
    /^READY=1\nSTATUS=Ready: 0 of 1 endpoints ready, 0 requests in flight$/,
  );
  await process.until("out", /listens on/);
  await receiver.take(4);
  process.signal("SIGTERM");
  await receiver.until(/^STOPPING=1\nSTATUS=Stopping: 0 of 1 endpoints ready/);
  const { code, err } = await process.ended();
  assertEquals(code, 0, err);
  assert(!err.includes("service_manager"), err);
  const kinds = receiver.taken.map((message) => message.split("=", 1)[0]);
  assertEquals(kinds.filter((kind) => kind !== "WATCHDOG"), [
    "READY",
    "STOPPING",
  ]);
});

test("serve gives no sign of life while a worker hangs", async () => {
  await using receiver = await NotifyReceiver.listen();
  const config = await Deno.makeTempFile({ suffix: ".yaml" });
  // Signs of life would go on for so long.
  await Deno.writeTextFile(config, "stop: { ready_grace: 1s }");
  const { process, say } = startProgram(
    [...SERVE, ...ADMIN, "--config", config],
    MORTAL,
    { NOTIFY_SOCKET: receiver.address, WATCHDOG_USEC: "400000" },
  );
  await using _ = process;
  await receiver.until(/^WATCHDOG=1$/);
  await Deno.remove(config);
  await say("hang 0");
  await receiver.until(/^STOPPING=1\n/);
  assertEquals((await process.ended()).code, 1);
  const at = receiver.taken.findIndex((it) => it.startsWith("STOPPING=1"));
  const after = receiver.taken.slice(at);
  assert(!after.includes("WATCHDOG=1"), `${after}`);
});

test("serve says why it is not ready when it cannot listen", async () => {
  await using receiver = await NotifyReceiver.listen();
  using other = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const admin = ["--admin", `127.0.0.1:${other.addr.port}`];
  await using process = start([MAIN, ...SERVE, ...admin], {
    env: { NOTIFY_SOCKET: receiver.address, WATCHDOG_USEC: "400000" },
  });
  assertEquals((await process.ended()).code, 1);
  await receiver.until(/^STATUS=Cannot serve: /);
  assertEquals(receiver.taken.length, 1);
});

test("serve names the address that it cannot listen at", async () => {
  await using folder = await CertificateFolder.create();
  const { certFile, keyFile } = await folder.make("a");
  using other = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const [taken, free] = [`127.0.0.1:${other.addr.port}`, "127.0.0.1:0"];
  const tls =
    `tls: { cert_file: "${certFile}", key_file: "${keyFile}", redirect_listen: "${taken}" }`;
  const table: [key: string, listen: string, admin: string, more: string][] = [
    ["listen", taken, free, "{}"],
    ["admin.listen", free, taken, "{}"],
    ["tls.redirect_listen", free, free, tls],
  ];
  for (const [key, listen, admin, more] of table) {
    const config = `${folder.path}/tryst.yaml`;
    await Deno.writeTextFile(config, more);
    const args = ["--config", config, "--listen", listen, "--admin", admin];
    await using process = start([MAIN, "serve", "--workers", "1", ...args]);
    const { code, err } = await process.ended();
    assertEquals(code, 1);
    const told =
      `Cannot serve: Cannot listen at "${key}", which is ${taken}: Address`;
    assertStringIncludes(err, told);
  }
});

test("serve goes on when there is no service manager at the address", async () => {
  await using process = start([MAIN, ...SERVE, ...ADMIN], {
    env: { NOTIFY_SOCKET: "/nowhere/notify", WATCHDOG_USEC: "20000" },
  });
  await process.until("err", /WARN +service_manager\.unreachable /);
  await process.until("out", /listens on/);
  process.signal("SIGTERM");
  const { code, err } = await process.ended();
  assertEquals(code, 0);
  assertEquals(err.match(/service_manager/g)?.length, 1);
});

test("serve prefixes log lines with priorities for the journal alone", async () => {
  const rows = [
    { env: {}, shell: AS_JOURNAL, prefix: "<6>" },
    { env: { JOURNAL_STREAM: "1:2" }, shell: '"$@"', prefix: "" },
  ];
  for (const { env, shell, prefix } of rows) {
    await using process = start([MAIN, ...SERVE, ...ADMIN], { env, shell });
    await process.until("err", new RegExp(`^${prefix}\\d{4}-\\S+ INFO `, "m"));
    await process.until("out", /listens on/);
    process.signal("SIGTERM");
    assertEquals((await process.ended()).code, 0, prefix);
  }
});

test("permissions reach for what a reload tells", async () => {
  await using process = start(["data:text/javascript,Deno.osUptime()"]);
  const { code, err } = await process.ended();
  assertEquals(code, 0, err);
});
