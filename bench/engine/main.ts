/**
 * The simulated engine as a command.
 *
 *     deno run -A bench/engine/main.ts --port 8000 --model m
 *
 * Invariant: every option of the command is an option of `startEngine()`, and
 * SIGINT or SIGTERM ends it in order.
 *
 * @module
 */
import { type EngineOptions, startEngine } from "./engine.ts";

const USAGE = `Usage: main.ts [--NAME VALUE]...
  --hostname NAME             address to listen on (127.0.0.1)
  --port N                    port to listen on (8000)
  --unix PATH                 unix socket to listen on instead
  --id NAME                   name in the ids of answers (engine)
  --model NAME                model to list; may be given again (sim)
  --prefill-ms-per-token N    pace of prefill (0.1)
  --decode-ms-per-token N     pace of decoding (10)
  --batch-max N               calls that run at once (64)
  --cache-blocks N            blocks of 16 tokens in the cache (4096)
  --speed N                   divides all times (1)
  --fixed-answer JSON         answer every POST with this, at once
`;

/** Options of the command that are numbers, by their names in the code. */
const NUMBERS: Readonly<Record<string, keyof EngineOptions>> = {
  "--port": "port",
  "--prefill-ms-per-token": "prefillMsPerToken",
  "--decode-ms-per-token": "decodeMsPerToken",
  "--batch-max": "batchMax",
  "--cache-blocks": "cacheBlocks",
  "--speed": "speed",
};

const TEXTS: Readonly<Record<string, keyof EngineOptions>> = {
  "--hostname": "hostname",
  "--unix": "path",
  "--id": "id",
  "--fixed-answer": "fixedAnswer",
};

/** Reads the command line. @throws {TypeError} that names the option. */
export function parseEngineArguments(args: readonly string[]): EngineOptions {
  const options: Record<string, unknown> = {};
  const models: string[] = [];
  for (let at = 0; at < args.length; at += 2) {
    const name = args[at] ?? "";
    const value = args[at + 1];
    if (value === undefined) {
      throw new TypeError(`Cannot read the option "${name}" without a value`);
    }
    const number = NUMBERS[name];
    const text = TEXTS[name];
    if (name === "--model") models.push(value);
    else if (text !== undefined) options[text] = value;
    else if (number !== undefined) options[number] = numberOf(name, value);
    else throw new TypeError(`Cannot find the option "${name}"`);
  }
  return {
    port: 8000,
    ...options,
    ...(models.length > 0 ? { models } : {}),
  };
}

function numberOf(name: string, value: string): number {
  const number = value.trim() === "" ? NaN : Number(value);
  if (!(number >= 0)) {
    throw new TypeError(
      `Cannot parse "${name}" as it must be a number from 0 up: ` +
        `current value is "${value}"`,
    );
  }
  return number;
}

async function main(): Promise<void> {
  if (Deno.args.includes("--help")) return write(Deno.stdout, `${USAGE}\n`);
  let options: EngineOptions;
  try {
    options = parseEngineArguments(Deno.args);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    write(Deno.stderr, `${error.message}\n\n${USAGE}`);
    Deno.exitCode = 2;
    return;
  }
  // Records are for tests; a command has nobody to read them.
  const engine = await startEngine({ ...options, recordsMax: 0 });
  write(Deno.stdout, `Engine "${engine.id}" listens on ${engine.url}\n`);
  const ended = Promise.withResolvers<void>();
  const signals: readonly Deno.Signal[] = ["SIGINT", "SIGTERM"];
  for (const name of signals) Deno.addSignalListener(name, ended.resolve);
  await ended.promise;
  for (const name of signals) Deno.removeSignalListener(name, ended.resolve);
  await engine.stop();
}

function write(stream: { writeSync(bytes: Uint8Array): number }, text: string) {
  stream.writeSync(new TextEncoder().encode(text));
}

if (import.meta.main) await main();
