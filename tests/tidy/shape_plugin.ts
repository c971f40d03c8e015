/**
 * The lint plugin of the shape of code: how long a function may be, how much a
 * file exports, and how things are declared.
 *
 * Invariant: as in `lint_plugin.ts`, rules look at syntax only.
 *
 * @module
 */

/** One screen; what is longer does more than one thing. */
const FUNCTION_LINES_MAX = 70;

/** One thing a file, with at most two that belong to it. Types are free. */
const VALUE_EXPORTS_MAX = 3;

type FunctionNode =
  | Deno.lint.FunctionDeclaration
  | Deno.lint.FunctionExpression
  | Deno.lint.ArrowFunctionExpression;

function functionLines(context: Deno.lint.RuleContext) {
  function check(node: FunctionNode) {
    const lines = context.sourceCode.getText(node).split("\n").length;
    if (lines <= FUNCTION_LINES_MAX) return;
    const message = `Cannot let a function have ${lines} lines: at most ` +
      FUNCTION_LINES_MAX;
    context.report({ node, message });
  }
  return {
    FunctionDeclaration: check,
    FunctionExpression: check,
    ArrowFunctionExpression: check,
  };
}

function valueExports(context: Deno.lint.RuleContext) {
  // A register's whole purpose is to export.
  if (context.filename.endsWith("/mod.ts")) return {};
  const names = new Set<string>();
  return {
    ExportNamedDeclaration(node: Deno.lint.ExportNamedDeclaration) {
      for (const name of exportedValues(node)) names.add(name);
      if (names.size <= VALUE_EXPORTS_MAX) return;
      const message = `Cannot export ${names.size} values from a file: at ` +
        `most ${VALUE_EXPORTS_MAX}`;
      context.report({ node, message });
    },
  };
}

/** Names of the values, not the types, that a statement exports. */
function exportedValues(node: Deno.lint.ExportNamedDeclaration): string[] {
  const { declaration } = node;
  if (declaration === null) {
    if (node.exportKind === "type") return [];
    return node.specifiers
      .filter((specifier) => specifier.exportKind !== "type")
      .map((specifier) => nameOf(specifier.exported));
  }
  switch (declaration.type) {
    case "VariableDeclaration":
      return declaration.declarations.map(({ id }) => nameOf(id));
    case "FunctionDeclaration":
    case "ClassDeclaration":
      return declaration.id === null ? [] : [declaration.id.name];
    case "TSEnumDeclaration":
      return [declaration.id.name];
    default:
      return [];
  }
}

/** A name; for a destructured export one that counts once. */
function nameOf(node: Deno.lint.Node): string {
  return node.type === "Identifier" ? node.name : `at ${node.range[0]}`;
}

function declaration(context: Deno.lint.RuleContext) {
  function refuseAccessibility(node: Deno.lint.Node) {
    const message = "Cannot use accessibility words: use a #private name";
    context.report({ node, message });
  }
  function checkAccessibility(
    node: Deno.lint.PropertyDefinition | Deno.lint.MethodDefinition,
  ) {
    if (node.accessibility !== undefined) refuseAccessibility(node);
  }
  return {
    "Program > VariableDeclaration > VariableDeclarator > ArrowFunctionExpression"(
      node: Deno.lint.ArrowFunctionExpression,
    ) {
      const message = "Cannot name an arrow function here: use function";
      context.report({ node, message });
    },
    "Program > ExportNamedDeclaration > VariableDeclaration > VariableDeclarator > ArrowFunctionExpression"(
      node: Deno.lint.ArrowFunctionExpression,
    ) {
      const message = "Cannot export an arrow function: use function";
      context.report({ node, message });
    },
    PropertyDefinition: checkAccessibility,
    MethodDefinition: checkAccessibility,
    TSParameterProperty: refuseAccessibility,
    ExportDefaultDeclaration(node: Deno.lint.ExportDefaultDeclaration) {
      // Deno takes a lint plugin as a default export only.
      if (context.filename.endsWith("_plugin.ts")) return;
      context.report({ node, message: "Cannot export a default: name it" });
    },
  };
}

const plugin: Deno.lint.Plugin = {
  name: "shape",
  rules: {
    "function-lines": { create: functionLines },
    "value-exports": { create: valueExports },
    "declaration": { create: declaration },
  },
};

// Deno takes a lint plugin as a default export only.
export default plugin;
