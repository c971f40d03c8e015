/**
 * The dashboard: one page that shows what the gateway does, live, and drains
 * and restores endpoints through the admin API like anyone else.
 *
 * All of it is in the program, as text (`embedded_page.ts`). The page and its
 * parts hold nothing of the gateway but the error table, so they may be had
 * without a token; what is shown comes from `/events`.
 *
 * Invariant: the page loads nothing from elsewhere, runs no script that is not
 * served here, makes no markup from strings and cannot be framed: its policy
 * (CSP Level 3, Trusted Types) has the browser see to that.
 *
 * @module
 */
import { ERROR_TABLE } from "../../core/error.ts";
import { PAGE_ASSETS, PAGE_HTML } from "./embedded_page.ts";
import { UPLOT_TEXT } from "./embedded_uplot.ts";
import { EventFeed, type EventFeedParts } from "./event_feed.ts";

/** Where the page finds what the codes of failures mean. */
const ERRORS_MARK = '"{{errors}}"';

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** Answers for the page, its parts and its events. */
export class Dashboard {
  readonly #feed: EventFeed;
  readonly #html = pageHtml();
  readonly #assets: ReadonlyMap<string, string> = new Map([
    ...Object.entries(PAGE_ASSETS),
    ["uplot.js", UPLOT_TEXT],
  ]);

  constructor(parts: EventFeedParts) {
    this.#feed = new EventFeed(parts);
  }

  /** The page itself. */
  page(): Response {
    return new Response(this.#html, {
      headers: headersOf("text/html; charset=utf-8"),
    });
  }

  /**
   * What `path`, `/assets/NAME`, stands for; `undefined` when it is none of
   * the page's parts.
   */
  asset(path: string): Response | undefined {
    const name = /^\/assets\/([a-z_.]+)$/.exec(path)?.[1] ?? "";
    const text = this.#assets.get(name);
    const type = CONTENT_TYPES[name.slice(name.lastIndexOf(".") + 1)];
    if (text === undefined || type === undefined) return undefined;
    return new Response(text, { headers: headersOf(type) });
  }

  /**
   * The status each second, as server-sent events.
   *
   * @throws {Problem} when too many listen.
   */
  events(request: Request): Response {
    return this.#feed.open(request);
  }

  /** Ends the events, so that nothing keeps a listener from stopping. */
  close(): void {
    this.#feed.close();
  }
}

function headersOf(type: string): Record<string, string> {
  return {
    "content-type": type,
    "content-security-policy": POLICY,
    // A new program may bring a new page at any time.
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  };
}

/** The page with the error table in it, as data that no parser takes for more. */
function pageHtml(): string {
  const rows = Object.entries(ERROR_TABLE).map(([code, { fault, message }]) => [
    code,
    { fault, message },
  ]);
  const json = JSON.stringify(Object.fromEntries(rows))
    .replaceAll("<", "\\u003c");
  return PAGE_HTML.replace(ERRORS_MARK, () => json);
}
