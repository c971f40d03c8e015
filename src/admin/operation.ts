/**
 * An operation of the admin API: its description and what it does, in one
 * place, so that the one cannot drift from the other.
 *
 * Invariant: an operation that changes something is no GET, takes JSON only,
 * and refuses pages of other origins before it reads a byte.
 *
 * @module
 */
import { STATUS_CODE, type StatusCode } from "@std/http/status";
import { type AccessLevel, checkSameOrigin } from "./access.ts";
import { readJson } from "./change_request.ts";
import {
  type Members,
  readMembers,
  type Schema,
  type Values,
} from "./member.ts";
import { Problem } from "./problem.ts";

/** What is said of an operation. */
export interface OperationDescription {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  /** Unlike that of any other operation. */
  readonly id: string;
  /** One line. */
  readonly summary: string;
  readonly access: AccessLevel;
  /** Parameters of the query of a GET, members of the body of all others. */
  readonly members: Members;
  readonly answer: {
    readonly doc: string;
    /** Of the JSON that is answered; a media type for what is none. */
    readonly content: Schema | string;
    /** Statuses with the same content; 200 alone unless named. */
    readonly statuses?: readonly StatusCode[];
  };
  /** What can be wrong besides what holds for all, by status. */
  readonly problems?: Readonly<Record<number, string>>;
}

/** An operation as the listener runs it. */
export interface Operation extends OperationDescription {
  /** Rejects with a `Problem` for what is wrong with the request. */
  readonly answerTo: (request: Request) => Promise<Response>;
}

/** What the author of an operation writes. */
export interface OperationSpec<M extends Members> extends OperationDescription {
  readonly members: M;
  /** Returns the answer, or the JSON of one. */
  readonly run: (
    values: Values<M>,
    request: Request,
  ) => unknown | Promise<unknown>;
}

/** Makes an operation, with the types of its members closed over. */
export function operation<M extends Members>(
  { run, ...description }: OperationSpec<M>,
): Operation {
  return {
    ...description,
    answerTo: async (request) => {
      const values = await valuesOf(description, request);
      const result = await run(values, request);
      return result instanceof Response ? result : Response.json(result);
    },
  };
}

/**
 * A part that a gateway need not have.
 *
 * @throws {Problem} when it is not there.
 */
export function present<Part>(part: Part | undefined, what: string): Part {
  if (part !== undefined) return part;
  throw new Problem(
    STATUS_CODE.NotImplemented,
    `Cannot do that: this gateway has no ${what}`,
  );
}

async function valuesOf<M extends Members>(
  { members, method }: { readonly members: M; readonly method: string },
  request: Request,
): Promise<Values<M>> {
  if (method !== "GET") {
    checkSameOrigin(request);
    return readMembers(members, await readJson(request));
  }
  const { searchParams } = new URL(request.url);
  // Operations without parameters are asked with whatever breaks a cache.
  return Object.keys(members).length === 0
    ? readMembers(members, {})
    : readMembers(members, Object.fromEntries(searchParams));
}
