/**
 * The members of a request to the admin API: how each is described, and how
 * its value is read.
 *
 * Invariant: what the description of the API says of a value is what is
 * checked, and everything that is wrong is told at once.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { type Complaint, Refusal, shownKey } from "../config/complaint.ts";
import { Problem } from "./problem.ts";

/** A JSON Schema (2020-12), as plain data. */
export type Schema = Readonly<Record<string, unknown>>;

/** One member of a body, or one parameter of a query. */
export interface Member<T> {
  readonly schema: Schema;
  readonly doc: string;
  readonly isOptional: boolean;
  /**
   * Reads a value; text when it comes from a query, `undefined` when it is
   * optional and not there.
   *
   * @throws {Refusal}
   */
  readonly read: (value: unknown) => T;
}

/** Members by their names. */
export type Members = Readonly<Record<string, Member<unknown>>>;

/** The values of members. */
export type Values<M extends Members> = {
  readonly [Name in keyof M]: M[Name] extends Member<infer T> ? T : never;
};

/**
 * Reads the members of a body, or of a query as an object.
 *
 * @throws {Problem} that names what is wrong, but never shows a value: it may
 * be a session key.
 */
export function readMembers<M extends Members>(
  members: M,
  given: unknown,
): Values<M> {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new Problem(
      STATUS_CODE.BadRequest,
      `Cannot use the body as it must be an object with ${namesOf(members)}`,
    );
  }
  const values = new Map<string, unknown>(Object.entries(given));
  const complaints: Omit<Complaint, "value">[] = [];
  for (const name of values.keys()) {
    if (Object.hasOwn(members, name)) continue;
    const wanted = `is not known: known are ${namesOf(members)}`;
    complaints.push({ origin: shownKey(name), wanted });
  }
  const read = Object.entries(members).map(([name, member]) => {
    try {
      if (values.has(name)) return [name, member.read(values.get(name))];
      if (member.isOptional) return [name, undefined];
      throw new Refusal("must be there");
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      complaints.push({ origin: name, wanted: error.message });
      return [name, undefined];
    }
  });
  if (complaints.length === 0) return Object.fromEntries(read);
  throw new Problem(STATUS_CODE.BadRequest, complaintText(complaints));
}

/** Complaints shown at once; a body may have thousands of bad members. */
const SHOWN_MAX = 5;

function complaintText(complaints: readonly Omit<Complaint, "value">[]) {
  const shown = complaints.slice(0, SHOWN_MAX)
    .map(({ origin, wanted }) => `Cannot use "${origin}" as it ${wanted}`);
  const left = complaints.length - shown.length;
  return shown.join("; ") + (left > 0 ? `; and ${left} more` : "");
}

function namesOf(members: Members): string {
  const names = Object.keys(members).map((name) => `"${name}"`);
  return names.length === 0 ? "nothing in it" : names.join(", ");
}
