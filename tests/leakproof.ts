/**
 * `Deno.test` with the leak sanitizers on.
 *
 * Invariant: every test of the project is declared through this function.
 * Deno 2.9 turned the sanitizers off by default, and Deno 2.7 refuses the
 * `deno.json` switch that turns them on again, so each test asks for them.
 *
 * @module
 */

/** Declares a test that fails when it leaves a timer, socket or file open. */
export function test(
  name: string,
  fn: (t: Deno.TestContext) => void | Promise<void>,
  options: { readonly ignore?: boolean } = {},
): void {
  Deno.test({
    name,
    ignore: options.ignore ?? false,
    sanitizeOps: true,
    sanitizeResources: true,
    sanitizeExit: true,
    fn,
  });
}
