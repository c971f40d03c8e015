/**
 * The gateway under chaos, in a process of its own and looked at from outside:
 * its metrics page, its memory and its sockets.
 *
 * The executable is used where one is named by `TRYST_BINARY` or can be
 * compiled, else the sources are run.
 *
 * Invariant: the process has ended when it has been disposed of.
 *
 * @module
 */
import { startProgram } from "../admin/program.ts";
import { Running, start } from "../binary/executable.ts";

/** The program with workers that die when they are told to. */
const MORTAL = new URL("../admin/mortal_gateway.ts", import.meta.url);

/** Milliseconds that one look at the admin address may take. */
const LOOK_MS = 5_000;

/** Readiness is looked at so often. */
const READY_PAUSE_MS = 50;
const READY_LOOKS_MAX = 400;

/** Places of an endpoint in a narrow run: a fraction of the clients. */
const NARROW_PLACES = 3;

/** States of `/proc/net/tcp` that hold nothing of a process any more. */
const CLOSED_STATES: ReadonlySet<string> = new Set(["06", "07", "0A"]);

/**
 * Waits short enough for a run to see them end, and one endpoint whose engine
 * gets to finish what clients have left.
 */
function configOf(ports: readonly number[], isNarrow: boolean): string {
  const endpoints = ports.map((port, n) =>
    `  - { id: e${n}, url: "http://127.0.0.1:${port}", ` +
    `on_disconnect: ${n === 0 ? "finish" : "abort"}` +
    `${isNarrow ? `, max_in_flight: ${NARROW_PLACES}` : ""} }`
  );
  return [
    "listen: 127.0.0.1:0",
    "admin: { listen: 127.0.0.1:0 }",
    "workers: 2",
    "session: { capacity: 4096 }",
    "stop: { deadline: 5s }",
    "timeouts: { connect: 1s, first_byte: 3s, idle: 3s, body: 3s, queue: 8s }",
    ...(isNarrow
      ? [
        "queue: { keepalive: 1s, overdue: 4s }",
        "routing: { affinity_patience: 250ms }",
      ]
      : []),
    "health: { interval: 500ms, timeout: 500ms, backoff: 200ms, " +
    "backoff_max: 1s }",
    "endpoints:",
    ...endpoints,
  ].join("\n");
}

/** Sums of the metrics page by name, and by name with labels. */
export type Metrics = ReadonlyMap<string, number>;

/** A gateway that serves. */
export class ChaosGateway implements AsyncDisposable {
  readonly port: number;
  readonly #admin: string;
  readonly #process: Running;
  readonly #enginePorts: ReadonlySet<number>;
  readonly #file: string;
  readonly #say: (line: string) => Promise<void>;

  constructor(
    options: {
      readonly port: number;
      readonly admin: string;
      readonly process: Running;
      readonly enginePorts: readonly number[];
      readonly file: string;
      readonly say: (line: string) => Promise<void>;
    },
  ) {
    this.port = options.port;
    this.#admin = options.admin;
    this.#process = options.process;
    this.#enginePorts = new Set(options.enginePorts);
    this.#file = options.file;
    this.#say = options.say;
  }

  /**
   * Starts a gateway in front of engines on these ports.
   *
   * @param options.canary A bug to plant in it, by its name in the simulation.
   * @param options.isNarrow Whether requests have to wait.
   * @param options.hasDeaths Whether workers can be told to die.
   */
  static async start(
    enginePorts: readonly number[],
    options: {
      readonly canary: string | undefined;
      readonly isNarrow: boolean;
      readonly hasDeaths: boolean;
    },
  ): Promise<ChaosGateway> {
    const file = await Deno.makeTempFile({ suffix: ".yaml" });
    await Deno.writeTextFile(file, configOf(enginePorts, options.isNarrow));
    const args = ["serve", "--config", file];
    const { process, say } = options.hasDeaths ? startProgram(args, MORTAL) : {
      process: await startServing(args, options.canary),
      say: () => Promise.resolve(),
    };
    try {
      const [, port] = await process.until("out", /listens on \S+:(\d+)/);
      const [, admin = ""] = await process.until("out", /Admin on (\S+)/);
      const gateway = new ChaosGateway({
        port: Number(port),
        admin,
        process,
        enginePorts,
        file,
        say,
      });
      await gateway.untilReady();
      return gateway;
    } catch (error) {
      await process[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Resolves once every endpoint is eligible; some seconds at most. */
  async untilReady(): Promise<void> {
    for (let look = 0; look < READY_LOOKS_MAX; look++) {
      const { eligible, total } = JSON.parse(await this.#get("/readyz"));
      if (eligible === total) return;
      await new Promise((resolve) => setTimeout(resolve, READY_PAUSE_MS));
    }
    throw new Error("Cannot wait longer for all endpoints to be eligible");
  }

  /** Has a worker die; nothing unless the run has deaths. */
  async crash(worker: number): Promise<void> {
    await this.#say(`crash ${worker}`);
  }

  /** The metrics page. */
  async metrics(): Promise<Metrics> {
    const sums = new Map<string, number>();
    for (const line of (await this.#get("/metrics")).split("\n")) {
      const match = /^(\w+)(\{.*\})? (\S+)$/.exec(line);
      if (match === null) continue;
      const [, name = "", labels = "", value] = match;
      sums.set(name, (sums.get(name) ?? 0) + Number(value));
      if (labels !== "") sums.set(name + labels, Number(value));
    }
    return sums;
  }

  /** Resident memory in bytes. */
  residentBytes(): number {
    const status = Deno.readTextFileSync(`/proc/${this.#process.pid}/status`);
    return 1_024 * Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]);
  }

  /** Open sockets to engines, and to clients. */
  sockets(): { readonly engines: number; readonly clients: number } {
    let engines = 0;
    let clients = 0;
    const lines = Deno.readTextFileSync("/proc/net/tcp").split("\n").slice(1);
    for (const line of lines) {
      const [, local = "", remote = "", state = ""] = line.trim().split(/\s+/);
      if (CLOSED_STATES.has(state)) continue;
      if (this.#enginePorts.has(portOf(remote))) engines += 1;
      if (portOf(local) === this.port) clients += 1;
    }
    return { engines, clients };
  }

  /** Asks it to stop; resolves to how it has ended. */
  async stop(): Promise<{ readonly code: number; readonly log: string }> {
    this.#process.signal("SIGTERM");
    const { code, err } = await this.#process.ended();
    return { code, log: err };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
    await Deno.remove(this.#file);
  }

  async #get(path: string): Promise<string> {
    const response = await fetch(`${this.#admin}${path}`, {
      signal: AbortSignal.timeout(LOOK_MS),
    });
    return await response.text();
  }
}

async function startServing(
  args: readonly string[],
  canary: string | undefined,
): Promise<Running> {
  const canCompile = Deno.version.deno.startsWith("2.7.");
  const isNamed = Deno.env.get("TRYST_BINARY") !== undefined;
  if (canary === undefined && (isNamed || canCompile)) return await start(args);
  const entry = canary === undefined
    ? new URL("../../main.ts", import.meta.url)
    : new URL("./canary_gateway.ts", import.meta.url);
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", entry.href, ...args],
    env: { NO_COLOR: "1", ...(canary === undefined ? {} : { CANARY: canary }) },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
  return new Running(command.spawn());
}

/** The port of an address of `/proc/net/tcp`, `HEX:HEX`. */
function portOf(address: string): number {
  return parseInt(address.slice(address.indexOf(":") + 1), 16);
}
