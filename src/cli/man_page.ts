/**
 * The manual page, in the macros of man(7).
 *
 * Invariant: commands, flags, variables, keys and exit codes come from their
 * tables; no text of theirs is taken for a request of roff.
 *
 * @module
 */
import { configRows } from "../config/reference.ts";
import { type Command, EXIT } from "./command.ts";
import { CONFIG_FLAG, CONFIG_FLAGS, type Flag } from "./flags.ts";
import { SECRET_VARIABLES, SERVICE_VARIABLES } from "./service_variables.ts";

/** What each exit code says. */
const EXIT_DOCS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: "Done; of serve: a stop that was asked for and cut no request",
  failed: "Something failed, for example a port that is taken, a request" +
    " that was cut or a worker that hung",
  refused: "The command line, a variable or the configuration file is wrong",
};

/** Files that the program or its unit know. */
const FILES: readonly (readonly [path: string, doc: string])[] = [
  ["/etc/tryst/tryst.yaml", "Configuration of the service"],
  ["/etc/systemd/system/tryst.service", "Unit that tryst systemd installs"],
  ["/var/lib/tryst", "State of the service"],
];

const SIGNALS: readonly (readonly [name: string, doc: string])[] = [
  [
    "SIGTERM, SIGINT",
    "Stop: readiness fails, then running requests finish, up to" +
    " stop.deadline. A second one cuts them",
  ],
  [
    "SIGHUP",
    "Read the configuration again: all of it is taken, or nothing. Running" +
    " requests finish as they began",
  ],
];

const EXAMPLES: readonly string[] = [
  "tryst check --endpoint http://127.0.0.1:8000-8007",
  "tryst serve --endpoint http://127.0.0.1:8000-8007",
  "tryst systemd --install --config /etc/tryst/tryst.yaml",
  "tryst drain gpu0 --wait 5m",
];

const DESCRIPTION = [
  "Tryst recognizes which conversation or agent run (the session) a request" +
  " belongs to, and sends it to the engine that already holds its KV cache." +
  " It stands in front of vLLM, SGLang, llama.cpp, TGI or anything that" +
  " speaks HTTP/1.1.",
  "A flag wins over its variable, and both over the configuration file. Every" +
  " command takes --help.",
];

/** Prints the page. */
export function manPage(
  commands: readonly Command[],
  version: string,
): string {
  return [
    `.TH TRYST 1 "" "Tryst ${text(version)}" "Tryst Manual"`,
    section("NAME"),
    "tryst \\- session\\-aware HTTP gateway for LLM inference servers",
    section("SYNOPSIS"),
    ".B tryst",
    ".I COMMAND",
    "[FLAGS]",
    section("DESCRIPTION"),
    ...paragraphs(DESCRIPTION),
    section("COMMANDS"),
    ...commands.flatMap(commandPart),
    section("FLAGS OF THE CONFIGURATION"),
    ...paragraphs(["Of the commands that read a configuration."]),
    ...CONFIG_FLAGS.flatMap((flag) =>
      item(spelling(flag), flagDoc(flag, flag.path))
    ),
    section("CONFIGURATION FILE"),
    ...paragraphs([
      "YAML or JSON. Every key is optional; dots stand for nesting.",
    ]),
    ...configRows().flatMap(({ key, initial, doc }) =>
      item(bold(key), `${text(doc)}. Default: ${text(initial)}`)
    ),
    section("ENVIRONMENT"),
    ...variables(commands),
    section("SIGNALS"),
    ...SIGNALS.flatMap(([name, doc]) => item(bold(name), sentence(doc))),
    section("EXIT STATUS"),
    ...Object.entries(EXIT_DOCS).flatMap(([name, doc]) =>
      item(bold(codeOf(name)), sentence(doc))
    ),
    section("FILES"),
    ...FILES.flatMap(([path, doc]) => item(italic(path), sentence(doc))),
    section("EXAMPLES"),
    ".EX",
    ...EXAMPLES.map(line),
    ".EE",
    section("SEE ALSO"),
    ".BR systemctl (1),",
    ".BR systemd.service (5)",
  ].join("\n");
}

function codeOf(name: string): string {
  const codes: Readonly<Record<string, number>> = EXIT;
  return String(codes[name]);
}

function section(name: string): string {
  return `.SH ${name}`;
}

function commandPart({ name, summary, flags, operand }: Command): string[] {
  const readsConfig = flags.includes(CONFIG_FLAG);
  const own = readsConfig
    ? flags.filter((flag) => !CONFIG_FLAGS.some((it) => it === flag))
    : flags;
  const title = ["tryst", name, operand ?? []].flat().join(" ");
  return [
    `.SS "${text(title)}"`,
    ...paragraphs([
      readsConfig
        ? `${summary}. Takes the flags of the configuration, below.`
        : `${summary}.`,
    ]),
    ...own.flatMap((flag) => item(spelling(flag), flagDoc(flag))),
  ];
}

/** Every variable once, with what it stands for. */
function variables(commands: readonly Command[]): string[] {
  const flags = [...CONFIG_FLAGS, ...commands.flatMap((it) => it.flags)];
  const names = new Map<string, string>();
  for (const { env, isList, name } of flags) {
    if (env === undefined || names.has(env)) continue;
    const list = isList ? ", as a list with commas" : "";
    names.set(env, `Stands for ${name}${list}`);
  }
  const rows = [
    ...names,
    ...Object.values({ ...SECRET_VARIABLES, ...SERVICE_VARIABLES }).map((
      { name, doc },
    ) => [name, doc] as const),
  ];
  return rows.flatMap(([name, doc]) => item(bold(name), sentence(doc)));
}

function spelling({ name, value, isList }: Flag): string {
  const word = value === undefined ? "" : ` ${italic(value)}`;
  return `${bold(name)}${word}${isList ? " ..." : ""}`;
}

function flagDoc({ doc, env }: Flag, path?: string): string {
  const parts = [sentence(doc)];
  if (env !== undefined) parts.push(`Variable: ${bold(env)}.`);
  if (path !== undefined) parts.push(`Key: ${bold(path)}.`);
  return parts.join(" ");
}

/** A term and what it means. */
function item(term: string, meaning: string): string[] {
  return [".TP", term, meaning];
}

function paragraphs(texts: readonly string[]): string[] {
  return texts.flatMap((it, at) => at === 0 ? [line(it)] : [".PP", line(it)]);
}

function sentence(doc: string): string {
  return `${line(doc)}.`;
}

function bold(word: string): string {
  return `\\fB${text(word)}\\fR`;
}

function italic(word: string): string {
  return `\\fI${text(word)}\\fR`;
}

/** Text at the start of a line, where a point or an apostrophe is a request. */
function line(words: string): string {
  return text(words).replace(/^[.']/, "\\&$&");
}

/** Text as it is: no escapes, and hyphens that can be copied. */
function text(words: string): string {
  return words
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll('"', "\\(dq")
    .replaceAll("'", "\\(aq")
    .replaceAll("\n", " ");
}
