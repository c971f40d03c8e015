/**
 * The lint plugin of the rooms: which room may import which, and what pure
 * rooms must not touch.
 *
 * Invariant: the rules look at syntax only and know no file by name. The
 * plugin interface of Deno is still evolving, so they stay small, and
 * `tidy_test.ts` checks the imports once more without it.
 *
 * @module
 */
import { importProblem, levelOf, PURE_LEVEL_MAX } from "./rooms.ts";

/** Globals that reach time, chance, the network, the process or the log. */
const AMBIENT: ReadonlySet<string> = new Set([
  "BroadcastChannel",
  "Date",
  "Deno",
  "EventSource",
  "Temporal",
  "WebSocket",
  "Worker",
  "XMLHttpRequest",
  "caches",
  "clearInterval",
  "clearTimeout",
  "confirm",
  "console",
  "crypto",
  "fetch",
  "globalThis",
  "localStorage",
  "navigator",
  "performance",
  "process",
  "prompt",
  "self",
  "setImmediate",
  "setInterval",
  "setTimeout",
  "window",
]);

/** Members of otherwise harmless globals. */
const AMBIENT_MEMBERS: ReadonlySet<string> = new Set([
  "Math.random",
  "AbortSignal.timeout",
]);

/** Up to this level there are no promises either. */
const SYNCHRONOUS_LEVEL_MAX = 1;

/** Parents in which an identifier that is a key is a name, not a use. */
const KEYED_PARENTS: ReadonlySet<string> = new Set([
  "MethodDefinition",
  "PropertyDefinition",
  "TSMethodSignature",
  "TSPropertySignature",
]);

/** The path of a linted file in the project. */
function projectPath(filename: string): string {
  const root = new URL("../../", import.meta.url).pathname;
  return filename.startsWith(root) ? filename.slice(root.length) : filename;
}

function importDirection(context: Deno.lint.RuleContext) {
  const path = projectPath(context.filename);
  function check(node: Deno.lint.Node, specifier: unknown) {
    if (typeof specifier !== "string") return;
    const message = importProblem(path, specifier);
    if (message !== undefined) context.report({ node, message });
  }
  return {
    ImportDeclaration(node: Deno.lint.ImportDeclaration) {
      check(node, node.source.value);
    },
    ExportNamedDeclaration(node: Deno.lint.ExportNamedDeclaration) {
      check(node, node.source?.value);
    },
    ExportAllDeclaration(node: Deno.lint.ExportAllDeclaration) {
      check(node, node.source.value);
    },
    ImportExpression(node: Deno.lint.ImportExpression) {
      if (node.source.type === "Literal") check(node, node.source.value);
      else if (levelOf(path) !== undefined) {
        context.report({ node, message: "Cannot import a computed name" });
      }
    },
    TSImportType(node: Deno.lint.TSImportType) {
      if (node.argument.type !== "TSLiteralType") return;
      const { literal } = node.argument;
      if (literal.type === "Literal") check(node, literal.value);
    },
  };
}

function pureRoom(context: Deno.lint.RuleContext) {
  const path = projectPath(context.filename);
  const level = levelOf(path);
  if (level === undefined || level > PURE_LEVEL_MAX) return {};
  if (/_test\.ts$/.test(path)) return {};
  // The two identifiers of a shorthand property stand in one place.
  const refusedAt = new Set<number>();
  function refuse(node: Deno.lint.Node, what: string) {
    if (refusedAt.has(node.range[0])) return;
    refusedAt.add(node.range[0]);
    context.report({ node, message: `Cannot use ${what} in a pure room` });
  }
  const ambient = {
    Identifier(node: Deno.lint.Identifier) {
      if (!isMere(node) && AMBIENT.has(node.name)) refuse(node, node.name);
    },
    MemberExpression({ object, property }: Deno.lint.MemberExpression) {
      if (object.type !== "Identifier") return;
      if (property.type !== "Identifier") return;
      const name = `${object.name}.${property.name}`;
      if (AMBIENT_MEMBERS.has(name)) refuse(property, name);
    },
  };
  return level > SYNCHRONOUS_LEVEL_MAX
    ? ambient
    : { ...ambient, ...noPromises(refuse, ambient.Identifier) };
}

/** Types may speak of promises: interfaces of the outside stand in `core`. */
function noPromises(
  refuse: (node: Deno.lint.Node, what: string) => void,
  identifier: (node: Deno.lint.Identifier) => void,
) {
  function checkFunction(node: Deno.lint.Node & { async: boolean }) {
    if (node.async) refuse(node, "an async function");
  }
  return {
    Identifier(node: Deno.lint.Identifier) {
      identifier(node);
      if (node.name !== "Promise" || isMere(node)) return;
      if (node.parent.type !== "TSTypeReference") refuse(node, "Promise");
    },
    AwaitExpression(node: Deno.lint.AwaitExpression) {
      refuse(node, "await");
    },
    ForOfStatement(node: Deno.lint.ForOfStatement) {
      if (node.await) refuse(node, "for await");
    },
    FunctionDeclaration: checkFunction,
    FunctionExpression: checkFunction,
    ArrowFunctionExpression: checkFunction,
  };
}

/** Whether an identifier is a mere name of a member, not a use of a global. */
function isMere(node: Deno.lint.Identifier): boolean {
  const { parent } = node;
  if (parent.type === "MemberExpression") {
    return parent.property.range[0] === node.range[0] && !parent.computed;
  }
  if (parent.type === "TSQualifiedName") {
    return parent.right.range[0] === node.range[0];
  }
  if (parent.type === "Property") {
    const isKey = parent.key.range[0] === node.range[0];
    return isKey && !parent.computed && !parent.shorthand;
  }
  return KEYED_PARENTS.has(parent.type) && "key" in parent &&
    parent.key.range[0] === node.range[0];
}

const plugin: Deno.lint.Plugin = {
  name: "rooms",
  rules: {
    "import-direction": { create: importDirection },
    "pure-room": { create: pureRoom },
  },
};

// Deno takes a lint plugin as a default export only.
export default plugin;
