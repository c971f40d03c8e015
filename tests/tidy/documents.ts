/**
 * What a document promises, taken out of its text: examples and commands.
 *
 * Invariant: each function looks at text alone, so that a test can plant what
 * must be found.
 *
 * @module
 */

/** The fenced blocks of a language, without their fences. */
export function blocksOf(markdown: string, language: string): string[] {
  const blocks = markdown.matchAll(/^```(\w*)\n([^]*?)^```$/gm);
  return [...blocks]
    .filter(([, found]) => found === language)
    .map(([, , text = ""]) => text);
}

/** Names of the tasks that a document says `deno task` of. */
export function namedTasks(markdown: string): string[] {
  const found = markdown.matchAll(/\bdeno task ([\w:]+)/g);
  return [...new Set([...found].map(([, name = ""]) => name))];
}

/** A command of the program as a document writes it. */
export interface NamedCommand {
  readonly name: string;
  readonly flags: readonly string[];
}

/**
 * The commands of `tryst` in shell blocks, by line and with their flags; also
 * where `deno task start` stands for `tryst serve`.
 */
export function namedCommands(markdown: string): NamedCommand[] {
  const text = blocksOf(markdown, "sh").join("").replaceAll("\\\n", " ")
    .replaceAll("deno task start", "tryst serve");
  const lines = text.matchAll(/(?:^|[\s/])tryst ([a-z-]+)(.*)$/gm);
  return [...lines].map(([, name = "", rest = ""]) => ({
    name,
    flags: [...rest.matchAll(/(?<=\s)--[\w-]+/g)].map(([flag]) => flag),
  }));
}
