/**
 * The files that a configuration names and that a gateway cannot start
 * without: its secrets and its certificate.
 *
 * `tryst serve` and `tryst check` read them here, so that both accept the same
 * and complain alike. What an endpoint's TLS is verified with is read when it
 * is connected to, and keeps no gateway from starting.
 *
 * Invariant: nothing of what is in them is shown.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import type { TlsSettings } from "../config/tls.ts";
import type { ApiKey } from "../core/api_key.ts";
import { readCertificate } from "../wiring/certificates.ts";
import type { Secrets } from "../wiring/secrets.ts";
import { readAdminToken } from "./admin_token.ts";
import type { Edge } from "./edge.ts";
import { readSecrets } from "./secret_files.ts";

/** What is in the files. */
export interface NamedFiles {
  /** What the admin API asks for; `undefined` for nothing. */
  readonly adminToken: string | undefined;
  readonly secrets: Secrets<ApiKey>;
}

/**
 * Reads all of them.
 *
 * Rejects with an `Error` that says what is wrong with which file.
 */
export async function readNamedFiles(
  config: Pick<Config, "admin" | "auth" | "endpoints" | "tls">,
  edge: Edge,
): Promise<NamedFiles> {
  const adminToken = await readAdminToken(config.admin.tokenFile, edge);
  const secrets = await readSecrets(config, edge);
  tryCertificate(config.tls);
  return { adminToken, secrets };
}

/**
 * Has the runtime take the certificate for a listener on a free port of
 * loopback, which is closed at once: nothing less finds a key of another one.
 */
function tryCertificate(tls: TlsSettings): void {
  const certified = readCertificate(tls);
  if (certified === undefined) return;
  try {
    Deno.listenTls({ ...certified, hostname: "127.0.0.1", port: 0 }).close();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `Cannot use the certificate of "${tls.certFile}" with the key of` +
        ` "${tls.keyFile}": ${reason}`,
    );
  }
}
