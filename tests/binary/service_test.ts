/**
 * The executable as a service: what it tells a service manager with the
 * permissions that are compiled into it, and what it prints for installing.
 *
 * The service manager is stood in for by a real receiver on `NOTIFY_SOCKET`;
 * the unit is judged by systemd in `src/cli/systemd_test.ts`.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { NotifyReceiver } from "../admin/notify_receiver.ts";
import { RawClient } from "../gateway/raw_client.ts";
import { post } from "../gateway/requests.ts";
import { test } from "../leakproof.ts";
import { run, start } from "./executable.ts";
import { GatedEngine } from "./gated_engine.ts";

test("binary: the service manager hears READY, STATUS, WATCHDOG, STOPPING", async () => {
  await using receiver = await NotifyReceiver.listen();
  await using engine = new GatedEngine();
  await using process = await start([
    ...["serve", "--endpoint", engine.url, "--workers", "2"],
    ...["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
  ], { env: { NOTIFY_SOCKET: receiver.address, WATCHDOG_USEC: "1000000" } });
  const [ready = ""] = await receiver.take(1);
  assert(ready.startsWith("READY=1\nSTATUS=Ready: "), ready);
  const [, port] = await process.until("out", /listens on \S+:(\d+)/);
  await process.until("err", /endpoint\.ready/);
  using stream = await RawClient.connect(Number(port));
  await stream.send(post("/v1/chat/completions", '{"stream":true}'));
  await stream.until(/"n":1/);
  const running = /: 1 of 1 endpoints ready, 1 request in flight$/;
  await receiver.until(running);
  process.signal("SIGTERM");
  const stopping = await receiver.until(/^STOPPING=1\n/);
  assertStringIncludes(stopping, "STATUS=Stopping: 1 of 1 endpoints ready, 1 ");
  // Signs of life go on until the last request has finished.
  const before = receiver.taken.length;
  await receiver.until(/^WATCHDOG=1$/, before);
  engine.open();
  assertEquals((await stream.reply()).isWhole, true);
  const { code, err } = await process.ended();
  assertEquals(code, 0, err);
  assert(!err.includes("service_manager"), err);
});

test("binary: it goes on when the service manager is not there", async () => {
  await using process = await start([
    ...["serve", "--endpoint", "http://127.0.0.1:9", "--workers", "1"],
    ...["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
  ], { env: { NOTIFY_SOCKET: "/nowhere/notify", WATCHDOG_USEC: "20000" } });
  await process.until("out", /listens on/);
  await process.until("err", /service_manager\.unreachable/);
  process.signal("SIGTERM");
  const { code, err } = await process.ended();
  assertEquals(code, 0);
  assertEquals(err.match(/service_manager/g)?.length, 1, err);
});

test("binary: it prints what installing it needs", async () => {
  const table: [argv: string[], start: string][] = [
    [["man"], ".TH TRYST 1 "],
    [["completions", "bash"], "# Completions of tryst for bash"],
    [["completions", "zsh"], "#compdef tryst"],
    [["completions", "fish"], "# Completions of tryst for fish"],
    [["systemd"], "# Printed by"],
  ];
  for (const [argv, text] of table) {
    const { code, out, err } = await run(argv);
    assertEquals({ code, err }, { code: 0, err: "" }, argv.join(" "));
    assert(out.startsWith(text), out.slice(0, 100));
  }
});

test("binary: it installs its unit", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const argv = ["systemd", "--install", "--unit-dir", folder];
    const first = await run(argv);
    assertEquals(first.code, 0, first.err);
    assertStringIncludes(first.out, `Wrote ${folder}/tryst.service\nNext:\n`);
    assertStringIncludes((await run(argv)).out, "it is up to date\n");
    const user = await run(["systemd", "--user", "--install"], {
      env: { HOME: folder },
    });
    assertEquals(user.code, 0, user.err);
    await Deno.stat(`${folder}/.config/systemd/user/tryst.service`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
