/**
 * The engine's stand-in: nginx with a fixed answer of some 500 bytes, because
 * it costs little and answers everybody alike.
 *
 * Invariant: it runs on a processor of its own, with the load, and its answer
 * ends as `steady_load.ts` expects.
 *
 * @module
 */
import type { Peer } from "./peers.ts";

/** Ports on loopback that nothing else should use. */
export const PORTS = { engine: 19_101, haproxy: 19_102, tryst: 19_103 };

const ANSWER = JSON.stringify({
  id: "chatcmpl-1",
  object: "chat.completion",
  choices: [{
    index: 0,
    message: { role: "assistant", content: "x".repeat(370) },
    finish_reason: "stop",
  }],
});

/** nginx as the engine's stand-in, configured in `folder`. */
export async function engineArgv(folder: string): Promise<readonly string[]> {
  const answer = ANSWER.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  await Deno.writeTextFile(
    `${folder}/nginx.conf`,
    `daemon off; worker_processes 1; pid ${folder}/nginx.pid;
error_log ${folder}/nginx.log crit;
events { worker_connections 4096; }
http {
  access_log off;
  default_type application/json;
  keepalive_requests 100000000;
  client_max_body_size 1g;
  client_body_buffer_size 128k;
  client_body_temp_path ${folder}/body;
  server {
    listen 127.0.0.1:${PORTS.engine} backlog=4096;
    location / { return 200 "${answer}"; }
  }
}
`,
  );
  return ["nginx", "-c", `${folder}/nginx.conf`];
}

/** The engine alone. */
export const DIRECT: Peer = {
  name: "the engine's stand-in alone",
  port: PORTS.engine,
  argv: undefined,
};
