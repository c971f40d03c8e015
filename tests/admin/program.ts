/**
 * The program in a process of its own, run from its sources, so that signals,
 * exit codes and threads are the real ones.
 *
 * Invariant: a process that a test starts has ended when the test has, and
 * every wait for it is bounded.
 *
 * @module
 */
import { Running } from "../binary/executable.ts";
import { RawClient } from "../gateway/raw_client.ts";
import type { Reply } from "../gateway/reply.ts";

/** Looks at something until it is so; some seconds at most. */
const LOOKS_MAX = 400;
const LOOK_PAUSE_MS = 25;

/** A gateway that serves, on free loopback ports. */
export interface Served extends AsyncDisposable {
  readonly process: Running;
  readonly port: number;
  readonly adminPort: number;
  /** Asks the admin address, each time on a connection of its own. */
  admin(target: string): Promise<Reply>;
  /** Sends a line to the program's standard input. */
  say(line: string): Promise<void>;
}

/** Starts the program, or another entry module that stands for it. */
export function startProgram(
  args: readonly string[],
  entry: URL = new URL("../../main.ts", import.meta.url),
  env: Readonly<Record<string, string>> = {},
): { readonly process: Running; readonly say: Served["say"] } {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", entry.href, ...args],
    env: { NO_COLOR: "1", ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const input = child.stdin.getWriter();
  const process = new Running(child);
  const dispose = process[Symbol.asyncDispose].bind(process);
  process[Symbol.asyncDispose] = async () => {
    await dispose();
    await input.close().catch(() => {});
  };
  return {
    process,
    say: (line) => input.write(new TextEncoder().encode(`${line}\n`)),
  };
}

/**
 * Starts a gateway with this configuration and waits until it is ready.
 *
 * @param config YAML besides the addresses.
 */
export async function serveProgram(
  config: string,
  entry?: URL,
): Promise<Served> {
  const file = await Deno.makeTempFile({ suffix: ".yaml" });
  await Deno.writeTextFile(file, config);
  const { process, say } = startProgram([
    ...["serve", "--config", file],
    ...["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
  ], entry);
  try {
    const [, port] = await process.until("out", /listens on \S+:(\d+)/);
    const [, adminPort] = await process.until("out", /Admin on \S+:(\d+)/);
    const admin = (target: string) => ask(Number(adminPort), target);
    await until("readiness", async () => {
      const { body } = await admin("/readyz");
      const { eligible, total } = JSON.parse(body);
      return eligible === total;
    });
    return {
      process,
      port: Number(port),
      adminPort: Number(adminPort),
      admin,
      say,
      [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
    };
  } catch (error) {
    await process[Symbol.asyncDispose]();
    throw error;
  } finally {
    await Deno.remove(file);
  }
}

/** Looks again and again until `isSo`; fails when that takes seconds. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_PAUSE_MS));
  }
  throw new Error(`Cannot wait longer for ${what}`);
}

async function ask(port: number, target: string): Promise<Reply> {
  using client = await RawClient.connect(port);
  await client.send(
    `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
  );
  return await client.reply();
}
