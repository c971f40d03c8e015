/**
 * `tryst top` in front of a real gateway: on a pseudo-terminal, on a pipe, and
 * what it leaves behind however it ends.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { type AdminWorld, withAdminWorld } from "../admin/admin_world.ts";
import { until } from "../admin/program.ts";
import { Running } from "../binary/executable.ts";
import { test } from "../leakproof.ts";
import { PseudoTerminal } from "./pseudo_terminal.ts";

const PROGRAM = new URL("./top_program.ts", import.meta.url);
const USUAL = { columns: 80, rows: 24 };
const NO_TERMINAL = !await PseudoTerminal.isAvailable();

/** The second screen and the cursor, taken and given back. */
const OPENED = "\x1b[?1049h\x1b[?25l";
const CLOSED = "\x1b[?25h\x1b[?1049l";

const DOWN = "\x1b[B";

function flagsOf({ adminUrl }: AdminWorld): string[] {
  return ["--admin", new URL(adminUrl).host, "--interval", "200ms"];
}

async function onTerminal(
  body: (terminal: PseudoTerminal, world: AdminWorld) => Promise<void>,
  size = USUAL,
): Promise<void> {
  await withAdminWorld({ engines: [{}, {}] }, async (world) => {
    const args = ["top", ...flagsOf(world)];
    await using terminal = await PseudoTerminal.start(PROGRAM, args, size);
    await terminal.shows(/sort:ENDPOINT/);
    await body(terminal, world);
  });
}

/** Runs it without a terminal. */
function onPipe(args: readonly string[]): Running {
  return new Running(
    new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", PROGRAM.href, "top", ...args],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn(),
  );
}

for (
  const [how, code, end] of [
    ["q", 0, (terminal) => terminal.press("q")],
    ["Ctrl-C", 0, (terminal) => terminal.press("\x03")],
    ["SIGTERM", 143, (terminal) => terminal.signal("SIGTERM")],
    ["SIGINT", 130, (terminal) => terminal.signal("SIGINT")],
  ] satisfies [string, number, (terminal: PseudoTerminal) => Promise<void>][]
) {
  test(`top gives the terminal back after ${how}`, async () => {
    await onTerminal(async (terminal) => {
      await end(terminal);
      const { text, ...ended } = await terminal.ended();
      assertEquals(ended, { code, isAsBefore: true });
      assertEquals(text.split(OPENED).length, 2);
      assertEquals(text.split(CLOSED).length, 2);
    });
  }, { ignore: NO_TERMINAL });
}

test(
  "top drains and restores the selected endpoint, once it is told so",
  async () => {
    await onTerminal(async (terminal, { gateway }) => {
      const state = (id: string) =>
        gateway.control.endpoints().find((one) => one.id === id)?.state;
      await terminal.press(DOWN + DOWN + "d");
      await terminal.shows(/Drain endpoint "e1"\? y\/n/);
      assertEquals(state("e1"), "ready");
      await terminal.press("y");
      await terminal.shows(/Endpoint "e1" drains: 0 requests in flight/);
      assertEquals([state("e0"), state("e1")], ["ready", "draining"]);
      await terminal.press("u");
      await terminal.shows(/Restore endpoint "e1"\? y\/n/);
      await terminal.press("y");
      await terminal.shows(/Endpoint "e1" is restored/);
      await until("e1", () => state("e1") === "ready");
      await terminal.press("q");
      assertEquals((await terminal.ended()).code, 0);
    });
  },
  { ignore: NO_TERMINAL },
);

test("top follows the size of the terminal, and sorts", async () => {
  await onTerminal(async (terminal) => {
    await terminal.resize(60, 15);
    await terminal.press("ssr");
    await terminal.shows(/sort:-FLY/);
    await terminal.press("q");
    const { text } = await terminal.ended();
    const frames = text.split("\x1b[H").slice(1);
    const linesOf = (frame = "") => frame.split("\x1b[J")[0]?.split("\r\n");
    assertEquals(linesOf(frames[0])?.length, 24);
    assertEquals(linesOf(frames.at(-1))?.length, 15);
  });
}, { ignore: NO_TERMINAL });

test("top goes on while the gateway is away, and says so", async () => {
  let terminal: PseudoTerminal | undefined;
  try {
    await withAdminWorld({ engines: [{}] }, async (world) => {
      const args = ["top", ...flagsOf(world)];
      terminal = await PseudoTerminal.start(PROGRAM, args, USUAL);
      await terminal.shows(/sort:ENDPOINT/);
    });
    await terminal?.shows(/Cannot reach a gateway at its admin address/);
    await terminal?.press("q");
    const ended = await terminal?.ended();
    assertEquals([ended?.code, ended?.isAsBefore], [0, true]);
  } finally {
    await terminal?.[Symbol.asyncDispose]();
  }
}, { ignore: NO_TERMINAL });

test("top prints lines where there is no terminal, with rates from the second on", async () => {
  await withAdminWorld({ engines: [{}, {}] }, async (world) => {
    await using process = onPipe(flagsOf(world));
    await process.until("out", /requests -\/s[^]*ENDPOINT[^]*\ne1 +ready/);
    await world.turn("a");
    await process.until("out", /requests [1-9][\d.]*\/s[^]*ENDPOINT/);
    process.signal("SIGTERM");
    const { out } = await process.ended();
    assert(!out.includes("\x1b"), out);
  });
});

test("top --once and --json look once", async () => {
  await withAdminWorld({ engines: [{}, {}] }, async (world) => {
    await using once = onPipe([...flagsOf(world), "--once"]);
    const lines = await once.ended();
    assertEquals([lines.code, lines.err], [0, ""]);
    assertEquals(lines.out.match(/^ENDPOINT/gm)?.length, 1);
    assertMatch(lines.out, /^e0 +ready +0 +~[\d,]+ +0/m);
    await using json = onPipe([...flagsOf(world), "--json"]);
    const printed = JSON.parse((await json.ended()).out);
    const answer = await world.ask("GET", "/status");
    assertEquals(Object.keys(printed), Object.keys(Object(answer.body)));
  });
});

test("top refuses what it cannot do, with a reason", async () => {
  await using slow = onPipe(["--interval", "99ms"]);
  const refused = await slow.ended();
  assertEquals(refused.code, 2);
  assertMatch(refused.err, /^Cannot use "--interval" as it must be 100ms/);
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  await using alone = onPipe(["--admin", `127.0.0.1:${port}`]);
  const failed = await alone.ended();
  assertEquals([failed.code, failed.out], [1, ""]);
  assertMatch(failed.err, /^Cannot reach a gateway at its admin address/);
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => Response.json({ endpoints: [] }),
  );
  await using strange = onPipe(["--admin", `127.0.0.1:${server.addr.port}`]);
  const confused = await strange.ended();
  assertEquals([confused.code, confused.out], [1, ""]);
  assertMatch(confused.err, /^Cannot read the status: /);
});
