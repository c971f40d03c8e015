/**
 * What web pages may do, and what they may not, first.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { Header, HeaderList } from "../core/request.ts";
import { test } from "../../tests/leakproof.ts";
import type { Answer, ClientRequest } from "./client_request.ts";
import { Cors, type CorsRules } from "./cors.ts";

const EXACT: CorsRules = {
  origins: ["https://app.example", "http://localhost:3000"],
  credentials: false,
};

const ANY: CorsRules = { origins: ["*"], credentials: false };

/** The answer to a request, and whether it has come to the gateway. */
async function ask(
  rules: CorsRules,
  method: string,
  headers: HeaderList,
  engine: Header[] = [],
): Promise<{ answer: Answer; hasPassed: boolean }> {
  let hasPassed = false;
  const request: ClientRequest = {
    head: { method, target: "/v1/chat/completions", headers },
    body: undefined,
    clientAddress: "127.0.0.1",
    scheme: "http",
    onGone: () => {},
  };
  const answer = await new Cors(rules).handle(request, () => {
    hasPassed = true;
    return Promise.resolve({ status: 200, headers: engine, body: undefined });
  });
  return { answer, hasPassed };
}

function corsFields({ headers }: Answer): Record<string, string> {
  return Object.fromEntries(
    headers.filter(([name]) => name.startsWith("access-control-"))
      .map(([name, value]) => [name.slice("access-control-".length), value]),
  );
}

const PREFLIGHT: Header[] = [
  ["origin", "https://app.example"],
  ["access-control-request-method", "POST"],
];

test("a preflight of a page that may not gets no permission (D10)", async () => {
  const origins = [
    "https://app.example.evil",
    "https://evil.app.example",
    "https://app.example:444",
    "http://app.example",
    "https://APP.example",
    "https://app.example/",
    "null",
    "*",
    "",
  ];
  for (const origin of origins) {
    const { answer, hasPassed } = await ask(EXACT, "OPTIONS", [
      ["origin", origin],
      ["access-control-request-method", "POST"],
    ]);
    assertEquals(hasPassed, false);
    assertEquals(answer.status, 204);
    assertEquals(corsFields(answer), {}, origin);
  }
});

test("a preflight is answered before anybody else is asked (D10 llama-swap #42)", async () => {
  const { answer, hasPassed } = await ask(EXACT, "OPTIONS", [
    ...PREFLIGHT,
    ["access-control-request-headers", "authorization,x-stainless-os"],
  ]);
  assertEquals(hasPassed, false);
  assertEquals(answer.status, 204);
  assertEquals(corsFields(answer), {
    "allow-origin": "https://app.example",
    "allow-methods": "POST",
    "allow-headers": "authorization,x-stainless-os",
    "max-age": "7200",
  });
});

test("what else is asked with OPTIONS passes", async () => {
  const rows: Header[][] = [
    [],
    [["origin", "https://app.example"]],
    [["access-control-request-method", "POST"]],
  ];
  for (const headers of rows) {
    assertEquals((await ask(EXACT, "OPTIONS", headers)).hasPassed, true);
  }
  assertEquals((await ask(EXACT, "POST", PREFLIGHT)).hasPassed, true);
});

test("headers are echoed within bounds, and only names", async () => {
  const atLimit = "x".repeat(4_096);
  const table: [asked: string, isEchoed: boolean][] = [
    ["x-a, x-b\t,x-c", true],
    [atLimit, true],
    [`${atLimit}x`, false],
    ["", false],
    ["x-a,", false],
    ["x a", false],
    ["x-a\r\nx-b: 1", false],
    ["x-a;q=1", false],
  ];
  for (const [asked, isEchoed] of table) {
    const { answer } = await ask(EXACT, "OPTIONS", [
      ...PREFLIGHT,
      ["access-control-request-headers", asked],
    ]);
    assertEquals(
      corsFields(answer)["allow-headers"],
      isEchoed ? asked : undefined,
      asked.slice(0, 20),
    );
  }
  const { answer } = await ask(EXACT, "OPTIONS", [
    ["origin", "https://app.example"],
    ["access-control-request-method", "PO ST"],
  ]);
  assertEquals(corsFields(answer), {});
});

test("answers are marked for their page, and the engine's marks are gone", async () => {
  const engine: Header[] = [
    ["content-type", "text/event-stream"],
    ["access-control-allow-origin", "*"],
    ["access-control-allow-credentials", "true"],
  ];
  const table: [CorsRules, string | undefined, string | undefined][] = [
    [EXACT, "https://app.example", "https://app.example"],
    [EXACT, "http://localhost:3000", "http://localhost:3000"],
    [EXACT, "https://evil.example", undefined],
    [EXACT, undefined, undefined],
    [ANY, "https://evil.example", "*"],
    [ANY, undefined, "*"],
  ];
  for (const [rules, origin, allowed] of table) {
    const headers: Header[] = origin === undefined ? [] : [["origin", origin]];
    const { answer } = await ask(rules, "POST", headers, engine);
    const fields = corsFields(answer);
    assertEquals(fields["allow-origin"], allowed);
    assertEquals(fields["allow-credentials"], undefined);
    assertEquals(
      fields["expose-headers"]?.includes("x-tryst-endpoint"),
      allowed === undefined ? undefined : true,
    );
    // A cache must not show the answer for one page to another.
    assertEquals(
      answer.headers.some(([name, value]) =>
        name === "vary" && value === "origin"
      ),
      rules === EXACT,
    );
  }
});

test("credentials and private networks are for exact origins alone", async () => {
  const asked: Header[] = [
    ...PREFLIGHT,
    ["access-control-request-private-network", "true"],
  ];
  const exact = await ask({ ...EXACT, credentials: true }, "OPTIONS", asked);
  assertEquals(corsFields(exact.answer)["allow-credentials"], "true");
  assertEquals(corsFields(exact.answer)["allow-private-network"], "true");
  const any = await ask({ ...ANY, credentials: true }, "OPTIONS", asked);
  assertEquals(corsFields(any.answer)["allow-credentials"], undefined);
  assertEquals(corsFields(any.answer)["allow-private-network"], undefined);
});
