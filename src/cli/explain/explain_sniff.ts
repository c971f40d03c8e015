/**
 * What the gateway itself finds in a request: the sniff phase, run over bytes
 * that are here already.
 *
 * Invariant: the sniffer is that of the gateway, with the configured limits,
 * and is fed the body in pieces as from a connection.
 *
 * @module
 */
import type { Config } from "../../config/config.ts";
import { Budget } from "../../core/counting/budget.ts";
import type { FoundKey } from "../../core/scan/body_sniff.ts";
import type { KeyPlan } from "../../core/scan/key_plan.ts";
import type { ClientRequest } from "../../gateway/client_request.ts";
import { contentCoding } from "../../gateway/encoded_scan.ts";
import { ProgressWatch } from "../../gateway/progress.ts";
import { Sniffer } from "../../gateway/sniff.ts";
import { systemClock } from "../../system/clock.ts";
import { inflate } from "../../system/inflate.ts";
import type { ExplainedRequest } from "./explain_request.ts";

/** Bytes of a piece: what a connection is usually read by. */
const PIECE_BYTES = 16_384;

/** Decoded bytes shown for each byte of the window, as the gateway bounds. */
const DECODED_PER_WINDOW_BYTE = 8;

/** What was found. */
export interface SniffFinding {
  readonly found: FoundKey | undefined;
  readonly model: string | undefined;
  /** Bytes of the body that were read until the key was known. */
  readonly byteCount: number;
  readonly isWindowFull: boolean;
  /** Whether the body could not be read as JSON. */
  readonly gaveUp: boolean;
}

/**
 * Sniffs a request.
 *
 * @throws {GatewayError} as `Sniffer` does.
 */
export async function sniffRequest(
  request: ExplainedRequest,
  { bodyBytesMax, config, plan }: {
    readonly config: Pick<Config, "session" | "limits">;
    readonly plan: KeyPlan;
    /** Of the tenant, where that is less than all may send. */
    readonly bodyBytesMax: number | undefined;
  },
): Promise<SniffFinding> {
  const sniffer = new Sniffer({
    plan,
    inflate,
    limits: {
      windowBytes: config.session.sniffWindowBytes,
      bodyBytesMax: config.limits.bodyBytes,
      progressMs: Infinity,
    },
    budget: new Budget(new SharedArrayBuffer(Budget.bytesFor(1)), 0, {
      requests: config.limits.requests,
      sniffBytes: config.limits.sniffMemoryBytes,
    }),
    progress: new ProgressWatch(systemClock, Infinity),
  });
  // Whether the model is needed hangs on the lists of the engines; what is
  // held for the key alone is told, and the model is looked for besides.
  const needs = { model: false, bodyBytesMax };
  const keyed = await sniffer.sniff(clientRequest(request), needs);
  const byteCount = keyed.byteCount();
  keyed.release();
  const named = await sniffer.sniff(clientRequest(request), {
    ...needs,
    model: true,
  });
  named.release();
  const { found, gaveUp, windowFull: isWindowFull } = keyed;
  return {
    found,
    model: named.model,
    byteCount,
    isWindowFull,
    gaveUp: gaveUp || named.gaveUp,
  };
}

/** The body as the scanner sees it, or `undefined` where it sees none. */
export async function scannedBody(
  { body, head }: ExplainedRequest,
  { session }: Pick<Config, "session">,
): Promise<Uint8Array | undefined> {
  const coding = contentCoding(head);
  if (body === undefined || coding === undefined) return body;
  const inflater = inflate(coding);
  if (inflater === undefined) return undefined;
  const bytesMax = session.sniffWindowBytes * DECODED_PER_WINDOW_BYTE;
  const pieces: BlobPart[] = [];
  let byteCount = 0;
  try {
    await inflater.push(body, (piece) => {
      pieces.push(piece.slice());
      byteCount += piece.length;
      return byteCount >= bytesMax;
    });
  } catch {
    // Not what it says it is: what came before that has been looked at.
  } finally {
    inflater.close();
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

function clientRequest(request: ExplainedRequest): ClientRequest {
  const { body, head, isChunked } = request;
  let at = 0;
  return {
    head,
    body: body && {
      length: isChunked ? undefined : body.length,
      whole: () => Promise.resolve(body),
      read() {
        const piece = body.subarray(at, at + PIECE_BYTES);
        at += piece.length;
        return Promise.resolve(piece.length === 0 ? undefined : piece);
      },
      cancel() {},
    },
    clientAddress: "127.0.0.1",
    scheme: "http",
    onGone() {},
  };
}
