/**
 * The text form of an exchange: what a client sends, what reaches the engine,
 * what the engine answers and what the client gets.
 *
 * A file opens with its title, `# ...`, and settings, `@name value`. Then come
 * blocks under their markers. In a block a line break stands for CR LF, the
 * last one belongs to the file and not to the block, and what is no visible
 * ASCII is written as `\n`, `\xNN` and `\\`.
 *
 * Invariant: `formatExchange` writes what `parseExchange` reads, so rewriting
 * a file whose exchange has not changed leaves its bytes alone.
 *
 * @module
 */

/** One exchange. All text is latin-1, one character a byte. */
export interface Exchange {
  readonly title: string;
  /** By name, in the order of the file. */
  readonly settings: ReadonlyMap<string, string>;
  readonly fromClient: string;
  /** `undefined` when nothing reaches the engine. */
  readonly toUpstream: string | undefined;
  /** `undefined` when the engine sends nothing. */
  readonly fromUpstream: string | undefined;
  /** What it sends once the client has seen some of that. */
  readonly laterUpstream: string | undefined;
  /** Whether the engine closes after what it sent. */
  readonly upstreamCloses: boolean;
  readonly toClient: string;
  /** Whether the client's connection ends before its answer does. */
  readonly isCutOff: boolean;
}

const FROM_CLIENT = "> client";
const TO_UPSTREAM = "> upstream";
const FROM_UPSTREAM = "< upstream";
const CLOSING_UPSTREAM = "< upstream, then closes";
const LATER_UPSTREAM = "< upstream, once that is seen";
const TO_CLIENT = "< client";
const CUT_CLIENT = "< client, cut off";

const MARKERS: readonly string[] = [
  FROM_CLIENT,
  TO_UPSTREAM,
  FROM_UPSTREAM,
  CLOSING_UPSTREAM,
  LATER_UPSTREAM,
  TO_CLIENT,
  CUT_CLIENT,
];

/** @throws {Error} when the text is no exchange. */
export function parseExchange(text: string): Exchange {
  const blocks = new Map<string, string[]>();
  const settings = new Map<string, string>();
  let title = "";
  let block: string[] | undefined;
  for (const line of text.replace(/\n$/, "").split("\n")) {
    if (MARKERS.includes(line)) {
      block = [];
      blocks.set(line, block);
    } else if (block !== undefined) block.push(unescaped(line));
    else if (line.startsWith("# ")) title = line.slice(2);
    else if (line.startsWith("@")) {
      const [name = "", value = ""] = line.slice(1).split(/ (.*)/, 2);
      settings.set(name, value);
    } else throw new Error(`Cannot read the line "${line}" of an exchange`);
  }
  const read = (marker: string) => blocks.get(marker)?.join("\r\n");
  const fromClient = read(FROM_CLIENT);
  if (fromClient === undefined || title === "") {
    throw new Error(`Cannot read an exchange without title and request`);
  }
  return {
    title,
    settings,
    fromClient,
    toUpstream: read(TO_UPSTREAM),
    fromUpstream: read(FROM_UPSTREAM) ?? read(CLOSING_UPSTREAM),
    laterUpstream: read(LATER_UPSTREAM),
    upstreamCloses: blocks.has(CLOSING_UPSTREAM),
    toClient: read(TO_CLIENT) ?? read(CUT_CLIENT) ?? "",
    isCutOff: blocks.has(CUT_CLIENT),
  };
}

/** The text of an exchange. */
export function formatExchange(exchange: Exchange): string {
  const lines = [`# ${exchange.title}`];
  for (const [name, value] of exchange.settings) {
    lines.push(`@${name} ${value}`.trimEnd());
  }
  const block = (marker: string, text: string | undefined) => {
    if (text === undefined) return;
    lines.push(marker, ...text.split("\r\n").map(escaped));
  };
  const { upstreamCloses, isCutOff } = exchange;
  block(FROM_CLIENT, exchange.fromClient);
  block(TO_UPSTREAM, exchange.toUpstream);
  block(
    upstreamCloses ? CLOSING_UPSTREAM : FROM_UPSTREAM,
    exchange.fromUpstream,
  );
  block(LATER_UPSTREAM, exchange.laterUpstream);
  block(isCutOff ? CUT_CLIENT : TO_CLIENT, exchange.toClient);
  return `${lines.join("\n")}\n`;
}

function escaped(line: string): string {
  return line
    .replaceAll("\\", "\\\\")
    .replaceAll("\n", "\\n")
    .replace(/^[<>]/, hex)
    .replace(/[^\x20-\x7e]/g, hex);
}

function hex(char: string): string {
  return `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
}

function unescaped(line: string): string {
  return line.replace(
    /\\(?:x([0-9a-f]{2})|(.))/g,
    (_, code: string | undefined, char: string) => {
      if (code !== undefined) return String.fromCharCode(parseInt(code, 16));
      return char === "n" ? "\n" : char;
    },
  );
}
