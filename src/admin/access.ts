/**
 * Who may ask the admin listener for what.
 *
 * On loopback there need be no token, so a page in a browser on the same
 * machine must not get through. A page of another origin may send a simple
 * request without asking first, but no JSON, and its browser says where it
 * comes from. A page whose name was made to point at this machine (DNS
 * rebinding) counts as the same origin, but its browser sends that name in
 * `Host`. A token makes up for both, as no browser sends one by itself.
 *
 * Tokens are compared by their SHA-256 in constant time: neither how long the
 * right one is nor how much of it was guessed can be told from the answer.
 *
 * Invariant: without a token the listener is on loopback, and the token is
 * kept as its digest only.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { timingSafeEqual } from "@std/crypto/timing-safe-equal";
import { STATUS_CODE } from "@std/http/status";
import { type AdminSettings, isLoopbackHost } from "../config/admin.ts";
import { Problem } from "./problem.ts";

/**
 * What an answer asks for: nothing, the token unless metrics are open, or the
 * token if there is one.
 */
export type AccessLevel = "open" | "metrics" | "token";

/** What decides. */
export interface AccessParts {
  /** What is listened on. */
  readonly hostname: string;
  readonly token?: string | undefined;
  readonly metricsOpen?: AdminSettings["metricsOpen"];
}

/** What a token is asked for with (RFC 6750, 3). */
const CHALLENGE = 'Bearer realm="tryst admin"';

/** Decides for one listener. */
export class AdminAccess {
  readonly #isLoopback: boolean;
  readonly #digest: Uint8Array | undefined;
  readonly #isMetricsOpen: boolean;

  /** @throws {TypeError} without a token on an address that others reach. */
  constructor({ hostname, metricsOpen = "auto", token }: AccessParts) {
    this.#isLoopback = isLoopbackHost(hostname);
    if (!this.#isLoopback && token === undefined) {
      throw new TypeError(
        `Cannot let others reach the admin address "${hostname}" without a` +
          " token",
      );
    }
    this.#digest = token === undefined ? undefined : digestOf(token);
    this.#isMetricsOpen = metricsOpen === "auto"
      ? this.#isLoopback
      : metricsOpen;
  }

  /** @throws {Problem} when `request` may not have what is at `level`. */
  check(request: Request, level: AccessLevel): void {
    if (level === "open") return;
    if (this.#digest !== undefined) {
      if (isBearer(request, this.#digest)) return;
      if (level !== "metrics" || !this.#isMetricsOpen) {
        throw unauthorized(request);
      }
    }
    if (this.#isLoopback) checkHost(request);
  }
}

/**
 * Refuses a change that a page of another origin sends: by `Sec-Fetch-Site`
 * (W3C Fetch Metadata), or in browsers without it by `Origin` (RFC 6454, 7).
 *
 * @throws {Problem}
 */
export function checkSameOrigin({ headers }: Request): void {
  const site = headers.get("sec-fetch-site");
  if (site === "same-origin" || site === "none") return;
  const origin = headers.get("origin");
  if (site === null && origin === null) return;
  if (site === null && hostOf(origin ?? "") === headers.get("host")) return;
  throw new Problem(
    STATUS_CODE.Forbidden,
    "Cannot take a change from a page of another origin: " +
      `current value is "${site ?? origin}"`,
  );
}

/** @throws {Problem} when the `Host` (RFC 9110, 7.2) is no name of loopback. */
function checkHost({ headers }: Request): void {
  const host = headers.get("host") ?? "";
  const match = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host);
  if (isLoopbackHost(match?.[1] ?? match?.[2] ?? "")) return;
  throw new Problem(
    STATUS_CODE.MisdirectedRequest,
    `Cannot answer for the host "${host}": use localhost or an address of` +
      " loopback, or configure a token",
  );
}

/** Scheme names are case-insensitive (RFC 9110, 11.1). */
function isBearer({ headers }: Request, digest: Uint8Array): boolean {
  const match = /^bearer +(.+)$/i.exec(headers.get("authorization") ?? "");
  return timingSafeEqual(digestOf(match?.[1] ?? ""), digest);
}

function unauthorized({ headers }: Request): Problem {
  const isWrong = headers.has("authorization");
  return new Problem(
    STATUS_CODE.Unauthorized,
    isWrong
      ? "Cannot accept these credentials: want the admin token as a bearer"
      : "Cannot answer without the admin token: want it as a bearer",
    {
      "www-authenticate": isWrong
        ? `${CHALLENGE}, error="invalid_token"`
        : CHALLENGE,
    },
  );
}

/** The host and port of an origin; the default port is not written. */
function hostOf(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/.exec(origin)?.[1];
}

function digestOf(token: string): Uint8Array {
  return createHash("sha256").update(token).digest();
}
