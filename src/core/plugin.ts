/**
 * A register: the static list of one kind of extension, found by name.
 *
 * Invariant: names are unique and there is one spelling of each. The list is a
 * room's `mod.ts`, imported as a namespace: adding an extension is one file
 * and one export line, and `deno compile` embeds it.
 *
 * @module
 */

/** What every extension has. */
export interface Named {
  readonly name: string;
  /** One line, printed by `--help` and listed in the README. */
  readonly summary: string;
}

/** The extensions of one kind. */
export class Register<Plugin extends Named> {
  readonly #kind: string;
  readonly #plugins = new Map<string, Plugin>();

  /** @throws {Error} when two extensions share a name. */
  constructor(kind: string, exports: Readonly<Record<string, Plugin>>) {
    this.#kind = kind;
    for (const plugin of Object.values(exports)) {
      if (this.#plugins.has(plugin.name)) {
        throw new Error(`Cannot register two of ${kind} "${plugin.name}"`);
      }
      this.#plugins.set(plugin.name, plugin);
    }
  }

  /** All names, sorted. */
  names(): string[] {
    return [...this.#plugins.keys()].sort();
  }

  /** All extensions, sorted by name. */
  all(): Plugin[] {
    return this.names().map((name) => this.get(name));
  }

  /** @throws {TypeError} that lists the known names. */
  get(name: string): Plugin {
    const plugin = this.#plugins.get(name);
    if (plugin === undefined) {
      throw new TypeError(
        `Cannot find ${this.#kind} "${name}": known are ${
          this.names().join(", ")
        }`,
      );
    }
    return plugin;
  }
}
