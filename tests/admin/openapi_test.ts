/**
 * The description of the admin API: it is an OpenAPI document, it is all
 * there is, every operation does what it says, and rubbish is refused.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { call } from "../gateway/raw_client.ts";
import { test } from "../leakproof.ts";
import { type AdminWorld, type Answer, withAdminWorld } from "./admin_world.ts";
import { entriesOf, schemaComplaints } from "./json_schema.ts";

/** An operation as it is described. */
interface Described {
  readonly method: string;
  readonly path: string;
  readonly id: string;
  readonly description: Readonly<Record<string, unknown>>;
}

/** What operations are asked with; the others take nothing. */
const GOOD_BODIES: Readonly<Record<string, unknown>> = {
  drainEndpoint: { id: "e1" },
  restoreEndpoint: { id: "e1" },
  weightEndpoint: { id: "e1", weight: 2 },
  limitEndpoint: { id: "e1", limit: 64 },
  findSession: { key: "seen" },
  pinSession: { key: "seen", endpoint: "e1" },
  forgetSession: { key: "seen" },
  deleteSession: { key: "seen" },
  setLogLevel: { level: "warn" },
};

/** The operation whose answer ends when the client leaves. */
const ENDLESS = "watchStatus";

const METHODS: readonly string[] = ["get", "post", "delete"];

async function describe({ ask }: AdminWorld): Promise<{
  readonly document: Readonly<Record<string, unknown>>;
  readonly operations: readonly Described[];
}> {
  const { body, status } = await ask("GET", "/openapi.json");
  assertEquals(status, 200);
  const document = entriesOf(body);
  const operations = Object.entries(entriesOf(document["paths"]))
    .flatMap(([path, item]) =>
      Object.entries(entriesOf(item)).map(([method, operation]) => {
        const description = entriesOf(operation);
        const id = String(description["operationId"]);
        return { method: method.toUpperCase(), path, id, description };
      })
    );
  return { document, operations };
}

/** The schema of what is answered with `status`, and its media type. */
function contentOf({ description }: Described, status: number): {
  readonly type: string;
  readonly schema: unknown;
} {
  const responses = entriesOf(description["responses"]);
  const response = entriesOf(responses[String(status)]);
  const [[type, media] = ["", {}]] = Object.entries(
    entriesOf(response["content"]),
  );
  return { type, schema: entriesOf(media)["schema"] };
}

/** The schema of what an operation takes. */
function bodySchemaOf({ description }: Described): unknown {
  const { content } = entriesOf(description["requestBody"]);
  return entriesOf(entriesOf(content)["application/json"])["schema"];
}

/** Fails unless an answer is one that its operation describes. */
function assertDescribed(
  described: Described,
  answer: Answer,
  document: Readonly<Record<string, unknown>>,
): void {
  const text = `${described.id}: ${answer.status} ${
    JSON.stringify(answer.body).slice(0, 500)
  }`;
  const { schema, type } = contentOf(described, answer.status);
  const contentType = answer.headers.get("content-type") ?? "";
  assert(type !== "" && contentType.startsWith(type), text);
  const reference = entriesOf(schema)["$ref"];
  const schemas = entriesOf(entriesOf(document["components"])["schemas"]);
  const name = String(reference).replace("#/components/schemas/", "");
  const actual = reference === undefined ? schema : schemas[name];
  assert(actual !== undefined, text);
  assertEquals(schemaComplaints(actual, answer.body), [], text);
}

/** Fails unless the first event is a status, by the described media type. */
async function assertEvents(
  { adminUrl }: AdminWorld,
  described: Described,
): Promise<void> {
  const response = await fetch(`${adminUrl}${described.path}`);
  const { type } = contentOf(described, response.status);
  assertEquals(response.headers.get("content-type"), type);
  const reader = response.body?.getReader();
  const { value } = await reader?.read() ?? {};
  await reader?.cancel();
  assertStringIncludes(new TextDecoder().decode(value), '"endpoints":');
}

/** Fails unless exactly what the schema allows is taken. */
async function assertJudged(
  world: AdminWorld,
  { described, document, json }: {
    readonly described: Described;
    readonly json: unknown;
    readonly document: Readonly<Record<string, unknown>>;
  },
): Promise<void> {
  const { id, method, path } = described;
  const answer = await world.ask(method, path, json);
  const complaints = schemaComplaints(bodySchemaOf(described), json);
  const text = `${id} ${JSON.stringify(json)} ${complaints}`;
  assert(answer.status < 500, text);
  assertDescribed(described, answer, document);
  assertEquals(answer.status === 400, complaints.length > 0, text);
}

test("openapi: the document has the shape of OpenAPI 3.1", async () => {
  await withAdminWorld({ engines: [{}, {}] }, async (world) => {
    const { document, operations } = await describe(world);
    assertEquals(document["openapi"], "3.1.0");
    const info = entriesOf(document["info"]);
    assertEquals(typeof info["title"], "string");
    assertEquals(typeof info["version"], "string");
    const ids = operations.map(({ id }) => id);
    assertEquals(new Set(ids).size, ids.length);
    const known = entriesOf(document["components"]);
    const schemes = Object.keys(entriesOf(known["securitySchemes"]));
    for (const { description, id, method, path } of operations) {
      assert(METHODS.includes(method.toLowerCase()), id);
      assert(/^\/[a-z./]*$/.test(path), path);
      assertEquals(typeof description["summary"], "string", id);
      const responses = Object.entries(entriesOf(description["responses"]));
      assert(responses.some(([status]) => status.startsWith("2")), id);
      for (const [status, response] of responses) {
        assert(/^[1-5]\d\d$/.test(status), id);
        assertEquals(typeof entriesOf(response)["description"], "string", id);
      }
      const security = description["security"];
      assert(Array.isArray(security), id);
      for (const name of security.flatMap((entry) => Object.keys(entry))) {
        assert(schemes.includes(name), id);
      }
      assertEquals(description["requestBody"] !== undefined, method !== "GET");
    }
  });
});

test("openapi: every operation is there, and answers as described", async () => {
  await withAdminWorld({ engines: [{}, {}] }, async (world) => {
    const { document, operations } = await describe(world);
    assert(operations.length >= 20, String(operations.length));
    const paths = new Set(operations.map(({ path }) => path));
    assert(["/", "/events"].every((path) => paths.has(path)));
    for (const described of operations) {
      const { id, method, path } = described;
      if (id === ENDLESS) {
        await assertEvents(world, described);
        continue;
      }
      await world.turn("seen");
      const body = method === "GET" ? undefined : GOOD_BODIES[id] ?? {};
      const answer = await world.ask(method, path, body);
      assertEquals(answer.status, 200, `${id} ${JSON.stringify(answer.body)}`);
      assertDescribed(described, answer, document);
    }
    assertEquals(world.levels, ["warn"]);
    // What is not described is not there.
    const { body, status } = await world.ask("GET", "/nothing");
    assertEquals(status, 404);
    const listed = String(entriesOf(body)["detail"]).slice("Known are ".length);
    assertEquals(new Set(listed.split(", ")), paths);
  });
});

test("openapi: what is taken is what is described, at every limit", async () => {
  const values = [
    ...[null, true, [], {}, "", " ", "\t\r\n", "\u00a0", "e0", "auto", "none"],
    ...["warn", "WARN", -1, 0, 0.0009, 0.001, 1, 1.5, 1_000, 1_000.1],
    ...[1_000_000, 1_000_001, 1e308],
  ];
  await withAdminWorld({ engines: [{}, {}] }, async (world) => {
    const { document, operations } = await describe(world);
    for (const described of operations) {
      const good = entriesOf(GOOD_BODIES[described.id]);
      for (const name of [...Object.keys(good), "model", "x"]) {
        if (described.method === "GET") break;
        const { [name]: _, ...rest } = good;
        await assertJudged(world, { described, json: rest, document });
        for (const value of values) {
          const json = { ...rest, [name]: value };
          await assertJudged(world, { described, json, document });
        }
      }
    }
  });
});

test("openapi: rubbish is refused as described, and breaks nothing", async () => {
  await withAdminWorld({ engines: [{}, {}] }, async (world) => {
    const { document, operations } = await describe(world);
    const takers = operations.filter(({ id, method }) =>
      method !== "GET" && !["reload", "takeSnapshot"].includes(id)
    );
    const names = ["id", "key", "model", "endpoint", "weight", "limit"];
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom<unknown>("e0", "seen", "auto", " ", "", null),
      fc.constantFrom<unknown>(1, 0, -1, 0.001, 1_000, 1.5, 1e6, 1e308, "warn"),
    );
    const rubbish = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.dictionary(fc.constantFrom(...names, "level", "__proto__"), value),
    );
    const taken = fc.constantFrom(...takers);
    await fc.assert(
      fc.asyncProperty(taken, rubbish, async (described, json) => {
        await assertJudged(world, { described, json, document });
      }),
      { numRuns: 400 },
    );
    const query = fc.dictionary(
      fc.oneof(fc.constantFrom("endpoint", "limit"), fc.string()),
      fc.oneof(fc.string(), fc.constantFrom("e0", "1", "1000", "1001", "-1")),
    );
    await fc.assert(
      fc.asyncProperty(query, async (parameters) => {
        const search = new URLSearchParams(parameters);
        const answer = await world.ask("GET", `/sessions?${search}`);
        assert([200, 400, 404].includes(answer.status), String(search));
      }),
      { numRuns: 100 },
    );
    assertEquals(world.adminFailures, []);
    assertEquals((await world.ask("GET", "/healthz")).status, 200);
  });
});

test("openapi: bytes that are no JSON are refused everywhere", async () => {
  await withAdminWorld({ engines: [{}] }, async (world) => {
    const { operations } = await describe(world);
    const port = Number(new URL(world.adminUrl).port);
    const bodies = [
      "",
      "{",
      "\\xff\\xfe",
      '{"id":"\\u0000"',
      "[".repeat(60_000),
    ];
    for (const { id, method, path } of operations) {
      if (method === "GET") continue;
      for (const body of [...bodies, " ".repeat(65_537)]) {
        const reply = await call(
          port,
          `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n` +
            "content-type: application/json\r\nconnection: close\r\n" +
            `content-length: ${body.length}\r\n\r\n${body}`,
        );
        const status = body.length > 65_536 ? 413 : 400;
        assertEquals(reply.status, status, `${id} ${body.slice(0, 20)}`);
        const problem = JSON.parse(reply.body);
        assertEquals(problem.status, status);
      }
    }
    assertEquals(world.adminFailures, []);
  });
});
