/** Tests of the tree of member names. @module */
import { assertEquals, assertThrows } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import {
  MEMBER_PATHS_MAX,
  type MemberNode,
  MemberPaths,
} from "./member_paths.ts";

const ENCODER = new TextEncoder();

test("MemberPaths refuses what it cannot look for", () => {
  const rows: readonly [string[][], string][] = [
    [[[]], "without a name"],
    [[["a", " "]], "blank name"],
    [[["a", "b"], ["a", "b"]], '"a.b" twice'],
    [[["x".repeat(1025)]], "at most 1024 bytes: current is 1025"],
    [paths(MEMBER_PATHS_MAX + 1), "current count is 31"],
  ];
  for (const [members, message] of rows) {
    assertThrows(() => tree(members), TypeError, message);
  }
  tree([["x".repeat(1024)]]);
  tree(paths(MEMBER_PATHS_MAX));
  tree(paths(MEMBER_PATHS_MAX - 1));
});

test("MemberPaths holds a path that is the prefix of another", () => {
  const { root } = tree([["a"], ["a", "b"], ["é"]]);
  const a = find(root, "a");
  assertEquals([root.below, a?.bit, a?.below, a?.index], [7, 1, 2, 0]);
  assertEquals(a && find(a, "b")?.bit, 2);
  assertEquals(find(root, "é")?.index, 2);
  assertEquals(find(root, "b"), undefined);
  assertEquals(find(root, "aa"), undefined);
});

function tree(list: readonly (readonly string[])[]): MemberPaths {
  return new MemberPaths(list.map((members) => ({ members, bytesMax: 8 })));
}

function paths(count: number): string[][] {
  return Array.from({ length: count }, (_, index) => [`m${index}`]);
}

function find(node: MemberNode, name: string): MemberNode | undefined {
  const bytes = ENCODER.encode(`<${name}>`);
  return node.child(bytes, 1, bytes.length - 1);
}
