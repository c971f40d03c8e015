/**
 * The command line's side of the admin API, over the gateway's own HTTP
 * client: `fetch` would go through a proxy that the environment names, even to
 * this machine.
 *
 * Invariant: every question ends in an answer, or in an error that says what
 * to look at, within the limits of the client.
 *
 * @module
 */
import type { ListenAddress } from "../config/config.ts";
import { FIELDS } from "../config/fields.ts";
import { parseListenAddress } from "../config/listen_address.ts";
import { systemClock } from "../system/clock.ts";
import { createDial } from "../system/dial.ts";
import { UpstreamClient, type UpstreamResponse } from "../upstream/client.ts";
import { readAdminToken } from "./admin_token.ts";
import type { ParsedArgs } from "./args.ts";
import { EXIT } from "./command.ts";
import type { Edge } from "./edge.ts";
import type { Flag } from "./flags.ts";
import { SECRET_VARIABLES } from "./service_variables.ts";
import { settingOf } from "./setting.ts";

/** The admin side answers at once, or the machine is in trouble. */
const ANSWER_MS_MAX = 10_000;

/** 256 endpoints with long ids are far below: 4 MiB. */
const ANSWER_BYTES_MAX = 4_194_304;

/** Addresses to listen on that nobody can connect to. */
const WILDCARDS: ReadonlyMap<string, string> = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "::1"],
]);

const ADMIN_FLAG: Flag = {
  name: "--admin",
  value: "HOST:PORT",
  env: "TRYST_ADMIN",
  isList: false,
  doc: `Admin address of the gateway, ${FIELDS.adminListen.initial} by default`,
};

const TOKEN_FLAG: Flag = {
  name: "--token-file",
  value: "FILE",
  env: undefined,
  isList: false,
  doc:
    `File with the admin token; ${SECRET_VARIABLES.adminToken.name} can hold` +
    " it instead",
};

/** The flags of every command that asks a gateway. */
export const ADMIN_FLAGS: readonly Flag[] = [ADMIN_FLAG, TOKEN_FLAG];

/** What was answered. */
export interface AdminAnswer {
  readonly status: number;
  /** JSON, or `undefined` when it is none. */
  readonly body: unknown;
}

/** Asks one gateway. */
export class AdminClient implements Disposable {
  readonly #address: ListenAddress;
  readonly #token: string | undefined;
  readonly #client = new UpstreamClient(
    { clock: systemClock, dial: createDial() },
    { firstByteMs: ANSWER_MS_MAX, idleMs: ANSWER_MS_MAX },
  );

  constructor({ hostname, port }: ListenAddress, token?: string) {
    this.#address = { hostname: WILDCARDS.get(hostname) ?? hostname, port };
    this.#token = token;
  }

  /** Reads what is at a path. */
  get(target: string): Promise<AdminAnswer> {
    return this.#ask("GET", target, undefined);
  }

  /** Sends a change. */
  post(target: string, body: unknown): Promise<AdminAnswer> {
    return this.#ask("POST", target, JSON.stringify(body));
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }

  async #ask(
    method: string,
    target: string,
    text: string | undefined,
  ): Promise<AdminAnswer> {
    const { hostname, port } = this.#address;
    const name = hostname.includes(":") ? `[${hostname}]` : hostname;
    const body = text === undefined
      ? undefined
      : new TextEncoder().encode(text);
    const exchange = this.#client.start({
      address: { kind: "tcp", hostname, port, tls: false },
      method,
      target,
      headers: [
        ["host", `${name}:${port}`],
        ["accept", "application/json"],
        ...(this.#token === undefined
          ? []
          : [["authorization", `Bearer ${this.#token}`] as const]),
        ...(body === undefined
          ? []
          : [["content-type", "application/json"] as const]),
      ],
      body,
      contentLength: body?.length,
    });
    try {
      const response = await exchange.response;
      const bytes = await bytesOf(response);
      return { status: response.status, body: parsed(bytes) };
    } catch (error) {
      throw new Error(
        `Cannot reach a gateway at its admin address ${name}:${port}: ` +
          reasonOf(error),
      );
    }
  }
}

/**
 * Runs a command that asks a gateway.
 *
 * @returns Its exit code, or that of what went wrong, having told it.
 */
export async function withAdmin(
  args: ParsedArgs,
  edge: Edge,
  body: (client: AdminClient) => Promise<number>,
): Promise<number> {
  const address = settingOf(ADMIN_FLAG, { args, edge }, {
    read: parseListenAddress,
    initial: FIELDS.adminListen.initial,
  });
  if (address === undefined) return EXIT.refused;
  try {
    const file = args.values.get(TOKEN_FLAG.name)?.[0];
    using client = new AdminClient(address, await readAdminToken(file, edge));
    return await body(client);
  } catch (error) {
    edge.err(error instanceof Error ? error.message : String(error));
    return EXIT.failed;
  }
}

/** What the operating system says, where it says something. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

async function bytesOf({ body }: UpstreamResponse): Promise<Uint8Array> {
  if (body === undefined) return new Uint8Array();
  if (body instanceof Uint8Array) return body;
  const chunks: Uint8Array[] = [];
  let byteCount = 0;
  for (;;) {
    const chunk = await body.read();
    if (chunk === undefined) break;
    byteCount += chunk.length;
    if (byteCount > ANSWER_BYTES_MAX) {
      body.cancel();
      throw new Error(`Its answer has more than ${ANSWER_BYTES_MAX} bytes`);
    }
    chunks.push(chunk);
  }
  return new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer());
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
