/**
 * A roster holds what a set would.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { Roster, type RosterMember } from "./roster.ts";

interface Named extends RosterMember {
  readonly name: number;
}

function names(roster: Roster<Named>): number[] {
  const found: number[] = [];
  roster.forEach(({ name }) => found.push(name));
  return found.sort((a, b) => a - b);
}

test("Roster holds what a Set holds, whatever joins and leaves", () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.nat({ max: 9 })));
  fc.assert(fc.property(steps, (list) => {
    const members = Array.from(
      { length: 10 },
      (_, name): Named => ({ name, rosterPlace: -1 }),
    );
    const roster = new Roster<Named>();
    const model = new Set<number>();
    for (const [isJoining, name] of list) {
      const member = members[name];
      if (member === undefined) continue;
      if (isJoining) {
        roster.add(member);
        model.add(name);
      } else assertEquals(roster.delete(member), model.delete(name));
      assertEquals(roster.size, model.size);
    }
    assertEquals(names(roster), [...model].sort((a, b) => a - b));
    roster.clear();
    assertEquals(names(roster), []);
  }));
});

test("Roster.forEach() meets everyone who stays, though others leave", () => {
  const roster = new Roster<Named>();
  const members = [0, 1, 2, 3].map((name): Named => ({
    name,
    rosterPlace: -1,
  }));
  for (const member of members) roster.add(member);
  const met: number[] = [];
  roster.forEach((member) => {
    met.push(member.name);
    if (member.name % 2 === 1) roster.delete(member);
  });
  assertEquals(met.sort(), [0, 1, 2, 3]);
  assertEquals(names(roster), [0, 2]);
});
