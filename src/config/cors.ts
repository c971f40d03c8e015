/**
 * The keys under `cors`: which web pages may use the gateway from a browser.
 *
 * Invariant: an origin is compared as a whole, as browsers write it; there are
 * no patterns, of which too wide a one would be a hole.
 *
 * @module
 */
import { Refusal } from "./complaint.ts";
import { complain, type Field, type Spot } from "./field.ts";

/** More web applications than any gateway serves. */
const ORIGINS_MAX = 1_024;

/** Scheme and authority in lower case (RFC 6454, 6.2), with nothing behind. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s\/?#@*"',A-Z]+$/;

/** What is configured of CORS. */
export interface CorsSettings {
  /** Exact origins; `["*"]` for any; empty leaves CORS to the engines. */
  readonly origins: readonly string[];
  /** Whether pages may send cookies and client certificates. */
  readonly credentials: boolean;
}

/** The keys of the `cors` section, by the setting that each fills. */
export const CORS_FIELDS: {
  readonly corsOrigins: Field<CorsSettings["origins"]>;
  readonly corsCredentials: Field<CorsSettings["credentials"]>;
} = {
  corsOrigins: {
    path: "cors.origins",
    initial: [],
    doc: 'Origins of web pages that may use the gateway, or ["*"] for any;' +
      " without any, CORS is left to the engines",
    read: readOrigins,
  },
  corsCredentials: {
    path: "cors.credentials",
    initial: false,
    doc: "Whether those pages may send cookies, true or false; not with *",
    read(value) {
      if (typeof value === "boolean") return value;
      throw new Refusal("must be true or false");
    },
  },
};

/** Complains on settings that contradict each other. */
export function checkCors(cors: CorsSettings, spot: Spot): void {
  if (!cors.credentials || !cors.origins.includes("*")) return;
  const origin = CORS_FIELDS.corsCredentials.path;
  const wanted = 'must be false where "cors.origins" is *';
  complain({ ...spot, origin }, { value: true }, wanted);
}

function readOrigins(value: unknown, spot: Spot): readonly string[] {
  if (!Array.isArray(value) || value.length > ORIGINS_MAX) {
    throw new Refusal(`must be a list of at most ${ORIGINS_MAX} origins`);
  }
  const origins: string[] = [];
  for (const [index, entry] of value.entries()) {
    if (entry === "*" && value.length === 1) origins.push(entry);
    else if (typeof entry === "string" && isOrigin(entry)) origins.push(entry);
    else {
      const wanted = "must be an origin as browsers send it, such as" +
        " https://app.example or http://localhost:3000, or * alone";
      complain(spot, { at: `[${index}]`, value: entry }, wanted);
    }
  }
  return origins;
}

/** A web origin must survive its own parser: no default port, no bad port. */
function isOrigin(text: string): boolean {
  if (!ORIGIN.test(text)) return false;
  return !/^https?:/.test(text) || URL.parse(text)?.origin === text;
}
