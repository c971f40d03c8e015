/**
 * The description of the admin API (OpenAPI 3.1.0), made from the operations
 * that the listener runs.
 *
 * Invariant: what is described is there, and what is there is described, but
 * for what the dashboard's page loads.
 *
 * @module
 */
import { STATUS_CODE, STATUS_TEXT, type StatusCode } from "@std/http/status";
import type { Member, Schema } from "./member.ts";
import {
  type Operation,
  operation,
  type OperationDescription,
} from "./operation.ts";

/** Raised when an operation changes in a way that its users must know of. */
const API_VERSION = "1.0.0";

/** What the listener itself may answer, whatever the operation does. */
const GENERAL_PROBLEMS: Readonly<Record<number, string>> = {
  [STATUS_CODE.InternalServerError]:
    "The gateway is at fault; its log says how",
};

const TOKEN_PROBLEMS: Readonly<Record<number, string>> = {
  [STATUS_CODE.Unauthorized]: "The token is wrong or missing",
  [STATUS_CODE.MisdirectedRequest]: "The host is no name of loopback",
};

const MEMBER_PROBLEMS: Readonly<Record<number, string>> = {
  [STATUS_CODE.BadRequest]: "A value is wrong or missing",
};

const BODY_PROBLEMS: Readonly<Record<number, string>> = {
  ...MEMBER_PROBLEMS,
  [STATUS_CODE.Forbidden]: "A page of another origin has sent it",
  [STATUS_CODE.RequestTimeout]: "The body did not come in time",
  [STATUS_CODE.ContentTooLarge]: "The body is too large",
  [STATUS_CODE.UnsupportedMediaType]: "The body is not sent as JSON",
  [STATUS_CODE.NotImplemented]: "The gateway lacks what that needs",
};

const PROBLEM: Schema = {
  type: "object",
  required: ["type", "title", "status", "detail"],
  properties: {
    type: { type: "string" },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string" },
  },
};

/** The operation that answers with the description of all, itself included. */
export function describeOperation(
  operations: () => readonly OperationDescription[],
): Operation {
  return operation({
    method: "GET",
    path: "/openapi.json",
    id: "describeApi",
    summary: "This description",
    access: "token",
    members: {},
    answer: {
      doc: "An OpenAPI 3.1 document",
      content: { type: "object", required: ["openapi", "info", "paths"] },
    },
    run: () => openApiOf(operations()),
  });
}

/** Describes operations. */
export function openApiOf(operations: readonly OperationDescription[]): Schema {
  const paths = new Map<string, Record<string, Schema>>();
  for (const description of operations) {
    const item = paths.get(description.path) ?? {};
    item[description.method.toLowerCase()] = described(description);
    paths.set(description.path, item);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Tryst admin API",
      version: API_VERSION,
      description: "Errors are problem details (RFC 9457). Without a token in" +
        " the configuration none is asked for, and the listener is on" +
        " loopback.",
    },
    servers: [{ url: "/" }],
    paths: Object.fromEntries(paths),
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: { Problem: PROBLEM },
    },
  };
}

function described(description: OperationDescription): Schema {
  const { access, answer, id, members, method, summary } = description;
  const { content, doc, statuses = [STATUS_CODE.OK] } = answer;
  const media = typeof content === "string"
    ? { [content]: { schema: { type: "string" } } }
    : { "application/json": { schema: content } };
  const answers = statuses.map((status) => [
    status,
    { description: doc, content: media },
  ]);
  const problems = Object.entries(problemsOf(description))
    .filter(([status]) => !statuses.some((other) => String(other) === status))
    .map(([status, text]) => [status, problemAnswer(Number(status), text)]);
  const hasQuery = method === "GET" && Object.keys(members).length > 0;
  return {
    operationId: id,
    summary,
    security: access === "open" ? [] : [{}, { token: [] }],
    ...(hasQuery ? { parameters: parametersOf(members) } : {}),
    ...(method === "GET" ? {} : { requestBody: bodyOf(members) }),
    responses: Object.fromEntries([...answers, ...problems]),
  };
}

function problemsOf(
  { access, members, method, problems }: OperationDescription,
): Readonly<Record<number, string>> {
  const hasQuery = method === "GET" && Object.keys(members).length > 0;
  return {
    ...(access === "open" ? {} : TOKEN_PROBLEMS),
    ...(hasQuery ? MEMBER_PROBLEMS : {}),
    ...(method === "GET" ? {} : BODY_PROBLEMS),
    ...problems,
    ...GENERAL_PROBLEMS,
  };
}

function problemAnswer(status: number, text: string): Schema {
  const schema = { $ref: "#/components/schemas/Problem" };
  const title = STATUS_TEXT[status as StatusCode];
  return {
    description: `${title}: ${text}`,
    content: { "application/problem+json": { schema } },
  };
}

function parametersOf(members: OperationDescription["members"]): Schema[] {
  return Object.entries(members).map(([name, member]) => ({
    name,
    in: "query",
    required: !member.isOptional,
    description: member.doc,
    schema: member.schema,
  }));
}

function bodyOf(members: OperationDescription["members"]): Schema {
  const properties = Object.entries(members).map((
    [name, { doc, schema }],
  ) => [name, { ...schema, description: doc }]);
  return {
    required: true,
    content: {
      "application/json": {
        schema: {
          type: "object",
          additionalProperties: false,
          required: requiredOf(members),
          properties: Object.fromEntries(properties),
        },
      },
    },
  };
}

function requiredOf(members: Readonly<Record<string, Member<unknown>>>) {
  return Object.keys(members).filter((name) => !members[name]?.isOptional);
}
