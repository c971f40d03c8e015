/**
 * What stands before the engine: HAProxy and Tryst.
 *
 * HAProxy places by the same member of the JSON body, as far as its buffer
 * reaches.
 *
 * Invariant: both have one thread on the same processor, the same engine
 * behind them and the same requests before them.
 *
 * @module
 */
import { PORTS } from "./stand_in.ts";

/** A program in front of the engine, or the engine itself. */
export interface Peer {
  readonly name: string;
  readonly port: number;
  /** The program to run; `undefined` when it is the engine. */
  readonly argv: readonly string[] | undefined;
}

/** HAProxy, one thread, hashing the member `session_id` of the body. */
export async function haproxyPeer(folder: string): Promise<Peer> {
  await Deno.writeTextFile(
    `${folder}/haproxy.cfg`,
    `global
  nbthread 1
  tune.bufsize 32768
defaults
  mode http
  timeout connect 3s
  timeout client 60s
  timeout server 60s
  option http-buffer-request
  option http-no-delay
  http-reuse always
frontend clients
  bind 127.0.0.1:${PORTS.haproxy}
  default_backend engines
backend engines
  balance hash req.body,json_query('$.session_id')
  hash-type consistent
  server e0 127.0.0.1:${PORTS.engine}
`,
  );
  return {
    name: "HAProxy (balance hash on the JSON member)",
    port: PORTS.haproxy,
    argv: ["haproxy", "-db", "-q", "-f", `${folder}/haproxy.cfg`],
  };
}

/** Tryst with one worker; the executable if it is given. */
export function trystPeer(binary: string | undefined): Peer {
  const program = binary === undefined
    ? ["deno", "run", "-A", "--no-check", "main.ts"]
    : [binary];
  return {
    name: binary === undefined ? "Tryst (deno run)" : `Tryst (${binary})`,
    port: PORTS.tryst,
    argv: [
      ...program,
      "serve",
      "--workers=1",
      `--listen=127.0.0.1:${PORTS.tryst}`,
      "--admin=127.0.0.1:0",
      `--endpoint=http://127.0.0.1:${PORTS.engine}`,
    ],
  };
}
