/**
 * The listener's certificate: read from its files, and again when they change.
 *
 * Each worker watches for itself, as each has a listener of its own and reads
 * kilobytes; so a worker that takes another's place has the latest one too.
 *
 * Invariant: files that are of no use change nothing, and the log says why.
 *
 * @module
 */
import type { TlsSettings } from "../config/tls.ts";
import type { Clock, Log } from "../core/outside.ts";
import type { CertifiedKey } from "../server/listening_server.ts";
import { FileWatch } from "../system/file_watch.ts";

/** What is needed to keep a listener's certificate up to date. */
export interface CertificateParts {
  readonly tls: TlsSettings;
  readonly clock: Clock;
  readonly log: Log;
  /** Takes another certificate; throws when it is of no use. */
  readonly exchange: (certified: CertifiedKey) => void;
}

/**
 * The certificate and key of the configured files; `undefined` for plain HTTP.
 *
 * @throws {Error} that names the file that cannot be read.
 */
export function readCertificate(
  { certFile, keyFile }: TlsSettings,
): CertifiedKey | undefined {
  if (certFile === undefined || keyFile === undefined) return undefined;
  return { cert: readFile(certFile), key: readFile(keyFile) };
}

/** Keeps a listener's certificate up to date until it is closed. */
export class CertificateWatch {
  readonly #parts: CertificateParts;
  readonly #watches: readonly FileWatch[];
  #current: string;

  /** @param current What the listener has now. */
  constructor(parts: CertificateParts, current: CertifiedKey) {
    const { clock, tls: { certFile, keyFile } } = parts;
    this.#parts = parts;
    this.#current = keyOf(current);
    this.#watches = [certFile, keyFile]
      .filter((path) => path !== undefined)
      .map((path) =>
        new FileWatch({ path, clock, changed: () => this.#look() })
      );
  }

  /** Looks no more. */
  close(): void {
    for (const watch of this.#watches) watch.close();
  }

  #look(): void {
    const { exchange, log, tls } = this.#parts;
    try {
      const certified = readCertificate(tls);
      if (certified === undefined || keyOf(certified) === this.#current) return;
      exchange(certified);
      this.#current = keyOf(certified);
      log("info", "tls.reloaded", { file: tls.certFile });
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      log("warn", "tls.refused", { file: tls.certFile, cause });
    }
  }
}

function readFile(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Cannot read "${path}" for TLS: ${reason}`, { cause });
  }
}

function keyOf({ cert, key }: CertifiedKey): string {
  return `${cert}\0${key}`;
}
