/**
 * Tests of what a release says of its files.
 *
 * @module
 */
import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import project from "../../deno.json" with { type: "json" };
import { test } from "../leakproof.ts";
import { compileFor, parseLine } from "./compile.ts";
import { differenceOf, releasedFile, sumsText } from "./digest.ts";
import { median } from "./start_up.ts";
import { machineOf, TARGETS } from "./targets.ts";

test("machineOf() tells machines apart, and what is none", async () => {
  const elf = (machine: number) => {
    const head = new Uint8Array(64);
    head.set([0x7f, 0x45, 0x4c, 0x46]);
    head[18] = machine;
    return head;
  };
  const macho = (type: number) => {
    const head = new Uint8Array(32);
    head.set([0xcf, 0xfa, 0xed, 0xfe, type, 0, 0, 1]);
    return head;
  };
  const table: [Uint8Array, string][] = [
    [new Uint8Array(), "no executable"],
    [new Uint8Array(64), "no executable"],
    [elf(62).subarray(0, 19), "no executable"],
    [elf(62).subarray(0, 20), "ELF x86_64"],
    [elf(183), "ELF aarch64"],
    [elf(243), "ELF 243"],
    [macho(7), "Mach-O x86_64"],
    [macho(12), "Mach-O aarch64"],
  ];
  for (const [head, machine] of table) assertEquals(machineOf(head), machine);
  const own = TARGETS.find(({ target }) => target === Deno.build.target);
  using file = await Deno.open(Deno.execPath());
  const head = new Uint8Array(64);
  await file.read(head);
  assertEquals(machineOf(head), own?.machine);
});

test("parseLine() takes the task's own line, and no other kind", () => {
  const { args, entry, env } = parseLine(project.tasks.compile);
  assertEquals([args[0], entry], ["compile", "main.ts"]);
  assertEquals(args.includes("--output") || args.includes("tryst"), false);
  assertEquals(args.includes("--no-prompt"), true);
  assertEquals(Object.keys(env), ["RUST_MIN_STACK"]);
  for (
    const line of [
      "",
      "deno compile main.ts",
      "deno run --output a main.ts",
      "deno compile --output a main.ts && rm a",
      'deno compile --output "a b" main.ts',
    ]
  ) {
    const { message } = assertThrows(() => parseLine(line), Error);
    assertMatch(message, /^Cannot use the task "compile"/);
  }
});

test("compileFor() does not take an executable for another machine", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const foreign = TARGETS.find(({ target, machine }) =>
      machine.startsWith("ELF") && target !== Deno.build.target
    );
    if (foreign === undefined) throw new Error("Cannot do without a target");
    const entry = `${folder}/a.ts`;
    await Deno.writeTextFile(entry, "export {};\n");
    // The base of this machine, whatever is asked for.
    const base = Deno.env.get("DENORT_BIN") ?? Deno.execPath();
    const compiled = await compileFor(foreign, `${folder}/a`, {
      env: { DENORT_BIN: base },
      args: ["compile", "--no-config"],
      entry,
    });
    assertEquals(compiled.kind, "skipped", JSON.stringify(compiled));
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
    assertEquals(names, ["a.ts"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

test("checksums are as sha256sum reads them, and differences are counted", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const write = (name: string, text: string) =>
      Deno.writeTextFile(`${folder}/${name}`, text);
    await write("b", "abc");
    await write("a", "");
    await write("c", "abd");
    const files = [
      await releasedFile(`${folder}/b`, "b"),
      await releasedFile(`${folder}/a`, "a"),
    ];
    await write("SHA256SUMS", sumsText(files));
    assertMatch(
      sumsText(files),
      /^e3b0c442\S{56} {2}a\nba7816bf\S{56} {2}b\n$/,
    );
    const { success } = await new Deno.Command("sha256sum", {
      args: ["--check", "--strict", "SHA256SUMS"],
      cwd: folder,
      stdout: "null",
    }).output();
    assertEquals(success, true);
    const difference = (other: string) =>
      differenceOf(`${folder}/b`, `${folder}/${other}`);
    assertEquals(await difference("b"), undefined);
    assertEquals(await difference("a"), "3 bytes and 0 bytes");
    assertEquals(await difference("c"), "1 of 3 bytes, the first at 2");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

test("median() is in the middle", () => {
  assertEquals([median([]), median([3, 1, 2]), median([4, 1, 9, 3])], [
    NaN,
    2,
    3,
  ]);
});
