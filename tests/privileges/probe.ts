/**
 * Says what a program with its permissions may do; stands in for the gateway.
 *
 * A worker thread is asked too: threads share the permissions of their process.
 *
 * Invariant: it does nothing but look, and try what must fail.
 *
 * @module
 */

/** What is asked for, of which most must not be had. */
const DESCRIPTORS: readonly Deno.PermissionDescriptor[] = [
  { name: "run" },
  { name: "run", command: "sh" },
  { name: "ffi" },
  { name: "sys" },
  { name: "sys", kind: "hostname" },
  { name: "sys", kind: "networkInterfaces" },
  { name: "sys", kind: "osUptime" },
  { name: "env" },
  { name: "env", variable: "PATH" },
  { name: "env", variable: "AWS_SECRET_ACCESS_KEY" },
  { name: "env", variable: "LD_PRELOAD" },
  { name: "env", variable: "TRYST_LISTEN" },
  { name: "net" },
  { name: "read" },
  { name: "write" },
];

/** Runs in both threads. */
function states(): Record<string, string> {
  return Object.fromEntries(DESCRIPTORS.map((descriptor) => {
    const { name, ...rest } = descriptor;
    const key = [name, ...Object.values(rest)].join(":");
    return [key, Deno.permissions.querySync(descriptor).state];
  }));
}

function attempts(): Record<string, string> {
  const tries: Record<string, () => unknown> = {
    run: () => new Deno.Command("true").outputSync(),
    ffi: () => Deno.dlopen("libc.so.6", {}),
    environment: () => Deno.env.toObject(),
    hostname: () => Deno.hostname(),
    memory: () => Deno.openSync("/proc/self/mem"),
    otherEnvironment: () => Deno.readTextFileSync("/proc/1/environ"),
  };
  return Object.fromEntries(
    Object.entries(tries).map(([name, attempt]) => {
      try {
        attempt();
        return [name, "done"];
      } catch (error) {
        return [name, error instanceof Error ? error.name : "thrown"];
      }
    }),
  );
}

const isWorker = "postMessage" in globalThis && !("document" in globalThis) &&
  globalThis.constructor.name.includes("Worker");

if (isWorker) {
  (globalThis as unknown as { postMessage(value: unknown): void })
    .postMessage({ states: states(), attempts: attempts() });
} else {
  const worker = new Worker(new URL("./probe.ts", import.meta.url), {
    type: "module",
  });
  worker.onmessage = ({ data }) => {
    const main = { states: states(), attempts: attempts() };
    const text = JSON.stringify({ main, worker: data });
    Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
    Deno.exit(0);
  };
}
