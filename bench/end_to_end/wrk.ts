/**
 * Full load by wrk: how many requests fit, and what each costs.
 *
 * Invariant: a run with errors or answers other than 2xx is no measurement.
 *
 * @module
 */
import { cpuMicroseconds } from "./usage.ts";

/** One run. */
export interface FullLoad {
  readonly requestsPerSecond: number;
  /** CPU time a request of the program under test, in microseconds. */
  readonly cpuUs: number;
  readonly medianMs: number;
  readonly p99Ms: number;
}

/** What to send. */
export interface LoadOptions {
  readonly port: number;
  /** The process whose CPU time counts. */
  readonly pid: number;
  readonly cpus: string;
  readonly connections: number;
  readonly seconds: number;
  /** The script that `writeScript` wrote. */
  readonly script: string;
}

/** A script of POSTs of about 1 KiB whose last member names the session. */
export async function writeScript(path: string): Promise<void> {
  await Deno.writeTextFile(
    path,
    `local pad = string.rep("lorem ipsum dolor ", 48)
local n = 0
request = function()
  n = (n + 1) % 256
  local body = '{"model":"m","messages":[{"role":"user","content":"' .. pad ..
    '"}],"session_id":"session-' .. string.format("%06d", n) .. '"}'
  return wrk.format("POST", "/v1/chat/completions", {
    ["content-type"] = "application/json",
    ["authorization"] = "Bearer token",
    ["user-agent"] = "wrk"
  }, body)
end
`,
  );
}

/** Runs wrk once. */
export async function fullLoad(options: LoadOptions): Promise<FullLoad> {
  const before = cpuMicroseconds(options.pid);
  const output = await new Deno.Command("taskset", {
    args: [
      "-c",
      options.cpus,
      "wrk",
      "-t1",
      `-c${options.connections}`,
      `-d${options.seconds}s`,
      "--latency",
      "-s",
      options.script,
      `http://127.0.0.1:${options.port}`,
    ],
  }).output();
  const cpu = cpuMicroseconds(options.pid) - before;
  const text = new TextDecoder().decode(output.stdout);
  const requests = Number(/(\d+) requests in/.exec(text)?.[1]);
  if (!output.success || !(requests > 0) || /Non-2xx|Socket err/.test(text)) {
    throw new Error(`Cannot measure: wrk says ${text}`);
  }
  return {
    requestsPerSecond: Number(/Requests\/sec:\s*([\d.]+)/.exec(text)?.[1]),
    cpuUs: cpu / requests,
    medianMs: milliseconds(/50%\s+([\d.]+)(us|ms|s)/.exec(text)),
    p99Ms: milliseconds(/99%\s+([\d.]+)(us|ms|s)/.exec(text)),
  };
}

function milliseconds(match: RegExpExecArray | null): number {
  const scale = { us: 0.001, ms: 1, s: 1_000 }[match?.[2] ?? ""] ?? NaN;
  return Number(match?.[1]) * scale;
}
