/**
 * HTTP semantics over the whole path: what passes untouched, what belongs to
 * one connection only, and what is refused.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { test } from "../leakproof.ts";
import { lacks } from "./old_listener.ts";
import { call, RawClient } from "./raw_client.ts";
import { bare, chunkedPost, post } from "./requests.ts";
import { always, withScript } from "./scripted_engine.ts";
import { withGateway, withWorld } from "./world.ts";

const ONE = { engines: [{}] };

test("path and query reach the engine byte for byte (PS #969)", async () => {
  await withWorld(ONE, async ({ port, engines }) => {
    const targets = [
      "/sleep?level=2",
      "/v1/x?a=b&a=c&empty=&flag",
      "/a/../b//c/%2e%2e/d?x=|'^{}",
      ...(lacks("rawTarget") === undefined ? ['/"<>`?"<>`'] : []),
      "/%7Euser/%7euser/~user?q=%C3%A9+%20",
      "/?",
      "//",
      "/a;b=c/d,e?x=y?z=/../",
      `/long?${"q".repeat(8_000)}`,
    ];
    for (const target of targets) {
      assertEquals((await call(port, bare("GET", target))).status, 404);
      assertEquals(engines[0]?.requests.at(-1)?.target, target);
      await call(port, post(target, "{}"));
      assertEquals(engines[0]?.requests.at(-1)?.target, target);
    }
  });
});

test("a base path stands before the target, which stays as it is (PS #969)", async () => {
  await withWorld(ONE, async ({ engines }) => {
    const url = `${engines[0]?.url}/engine/a`;
    await withGateway([{ url }], {}, async ({ port }) => {
      await call(port, post("/v1/x?a=b", "{}"));
      assertEquals(
        engines[0]?.requests.at(-1)?.target,
        "/engine/a/v1/x?a=b",
      );
      const seenCount = engines[0]?.requests.length;
      for (const target of ["/../x", "/v1/%2E%2e/x", "/..", "/./x?a"]) {
        assertEquals((await call(port, bare("GET", target))).status, 400);
      }
      assertEquals(engines[0]?.requests.length, seenCount);
      const kept = "/v1/..x?a=/../b";
      await call(port, bare("GET", kept));
      assertEquals(engines[0]?.requests.at(-1)?.target, `/engine/a${kept}`);
    });
  });
});

test("any path the engine has is served, known or not (PS #410)", async () => {
  await withScript(
    async (peer, request) => {
      const [line = ""] = request.split("\r\n");
      await peer.send(
        `HTTP/1.1 200 OK\r\nContent-Length: ${line.length}\r\n\r\n${line}`,
      );
    },
    async ({ port }) => {
      const paths = [
        "/pooling",
        "/v1/audio/speech",
        "/completion",
        "/generate",
      ];
      for (const path of paths) {
        const reply = await call(port, post(path, "{}"));
        assertEquals(reply.body, `POST ${path} HTTP/1.1`);
      }
    },
  );
});

test("fields of the model list pass (PS #892, #927)", async () => {
  await withWorld(ONE, async ({ port, engines }) => {
    const request = bare("GET", "/v1/models");
    const reply = await call(port, request);
    const direct = await call(engines[0]?.port ?? 0, request);
    assertMatch(reply.body, /"max_model_len":/);
    assertEquals(reply.body, direct.body);
  });
});

test("methods and their bodies pass, known or not (PS #410)", async () => {
  await withWorld(ONE, async ({ port, engines }) => {
    const methods = [
      "GET",
      "DELETE",
      "PUT",
      "PATCH",
      "POST",
      "OPTIONS",
    ];
    for (const method of [...methods, "PROPFIND", "M-SEARCH", "get", "Foo"]) {
      const reply = await call(port, bare(method, "/echo"));
      assertEquals(reply.status, 200, method);
      assertEquals(engines[0]?.requests.at(-1)?.method, method);
    }
    for (const method of ["DELETE", "PUT", "PATCH", "OPTIONS", "PROPFIND"]) {
      const head = bare(method, "/echo", ["Content-Length: 3"]);
      assertEquals((await call(port, `${head}abc`)).status, 200, method);
      const record = engines[0]?.requests.at(-1);
      assertEquals(new TextDecoder().decode(record?.body), "abc", method);
    }
    const seenCount = engines[0]?.requests.length;
    for (const method of ["TRACE", "TRACK"]) {
      assertEquals((await call(port, bare(method, "/echo"))).status, 400);
    }
    assertEquals(engines[0]?.requests.length, seenCount);
    assertEquals((await call(port, bare("OPTIONS", "*"))).status, 404);
    assertEquals(engines[0]?.requests.at(-1)?.target, "*");
  });
});

test("HEAD is answered with the head of the engine, its length included (PS #733)", async () => {
  await withWorld(ONE, async ({ port, engines }) => {
    const reply = await call(port, bare("HEAD", "/v1/models"));
    const whole = await call(port, bare("GET", "/v1/models"));
    assertEquals(reply.status, 200);
    assertEquals(
      reply.headers.get("content-length"),
      String(whole.body.length),
    );
    assertEquals(engines[0]?.requests.at(-2)?.method, "HEAD");
    // The connection goes on: nothing was taken for a body.
    using client = await RawClient.connect(port);
    for (let i = 0; i < 3; i++) {
      await client.send(bare("HEAD", "/health"));
      assertEquals((await client.reply({ isHead: true })).status, 200);
    }
  });
});

test("204 and 304 have no body, whatever they state", async () => {
  const answers = [
    "204 No Content\r\n",
    '304 Not Modified\r\nETag: "x"\r\nContent-Length: 12\r\n',
    "304 Not Modified\r\n",
  ];
  for (const answer of answers) {
    await withScript(
      always(`HTTP/1.1 ${answer}\r\n`),
      async ({ port }) => {
        using client = await RawClient.connect(port);
        for (let i = 0; i < 2; i++) {
          await client.send(bare("GET", "/x"));
          const reply = await client.reply();
          assertEquals(reply.status, Number(answer.slice(0, 3)));
          assertEquals([reply.body, reply.isWhole], ["", true]);
          assertEquals(reply.headers.has("etag"), answer.includes("ETag"));
        }
      },
    );
  }
});

test("fields of one connection stay there, both ways (PS #201, D4 nuxt/scripts #791, vaadin #24092)", async () => {
  let seen = "";
  await withScript(
    async (peer, request) => {
      seen = request.toLowerCase();
      await peer.send(
        "HTTP/1.1 200 OK\r\nConnection: X-Inner, keep-alive\r\nX-Inner: 1\r\n" +
          "Keep-Alive: timeout=5\r\nProxy-Connection: x\r\nUpgrade: h2c\r\n" +
          "Proxy-Authenticate: Basic\r\nTrailer: x-t\r\nX-Outer: 2\r\n" +
          "Content-Length: 2\r\n\r\nok",
      );
    },
    async ({ port }) => {
      const reply = await call(
        port,
        post("/x", "{}", [
          "Connection: keep-alive, x-foo, X-Bar",
          "X-Foo: 1",
          "x-bar: 2",
          "Keep-Alive: timeout=5",
          "TE: trailers",
          "Upgrade: h2c",
          "Proxy-Authorization: Basic eA==",
          "Proxy-Connection: keep-alive",
          "X-Kept: 3",
        ]),
      );
      const gone = "x-foo x-bar keep-alive te upgrade proxy-authorization " +
        "proxy-connection connection trailer expect";
      for (const name of gone.split(" ")) {
        assert(!seen.includes(`\r\n${name}:`), name);
      }
      assert(seen.includes("\r\nx-kept: 3\r\n"), seen);
      const inner = "x-inner keep-alive proxy-connection upgrade " +
        "proxy-authenticate trailer";
      for (const name of inner.split(" ")) {
        assertEquals(reply.headers.get(name), undefined, name);
      }
      assertEquals(reply.headers.get("x-outer"), "2");
    },
  );
});

test("the engine gets its own Host, and the client's beside it (D5 vllm-router #190, PS #127)", async () => {
  await withWorld(ONE, async ({ port, engines }) => {
    await call(port, "GET /echo HTTP/1.1\r\nHost: gw.example:80\r\n\r\n");
    const headers = engines[0]?.requests.at(-1)?.headers;
    assertEquals(headers?.get("host"), `127.0.0.1:${engines[0]?.port}`);
    assertEquals(headers?.get("x-forwarded-host"), "gw.example:80");
    assertEquals(headers?.get("x-forwarded-for"), "127.0.0.1");
    assertEquals(headers?.get("x-forwarded-proto"), "http");
  });
});

test("Authorization is forwarded on every route (PS #910, #914; D6 sglang #3031, #3070; D7 PS #733)", async () => {
  await withWorld(ONE, async ({ port, engines }) => {
    const credentials = ["Authorization: Bearer sk-1", "x-api-key: sk-2"];
    const paths = [
      "/v1/chat/completions",
      "/v1/completions",
      "/v1/embeddings",
      "/v1/responses",
      "/v1/messages",
      "/v1/audio/transcriptions",
      "/v1/models",
      "/health",
      "/unknown",
    ];
    for (const path of paths) {
      for (const request of [post, chunked, get]) {
        await call(port, request(path, credentials));
        const headers = engines[0]?.requests.at(-1)?.headers;
        assertEquals(headers?.get("authorization"), "Bearer sk-1", path);
        assertEquals(headers?.get("x-api-key"), "sk-2", path);
      }
    }
  });

  function get(path: string, headers: string[]): string {
    return bare("GET", path, headers);
  }
  function chunked(path: string, headers: string[]): string {
    return chunkedPost(path, ["{", "}"], headers);
  }
  function post(path: string, headers: string[]): string {
    return `${bare("POST", path, [...headers, "Content-Length: 2"])}{}`;
  }
});

test("Accept-Encoding passes, and an encoded answer comes untouched (D15 obot #5930)", async () => {
  await withWorld(ONE, async ({ port, engines }) => {
    engines[0]?.faults.set({ gzip: true });
    const headers = ["Accept-Encoding: gzip;q=0.5, br"];
    const request = post("/v1/embeddings", '{"input":"a"}', headers);
    const reply = await call(port, request);
    const direct = await call(engines[0]?.port ?? 0, request);
    assertEquals(reply.headers.get("content-encoding"), "gzip");
    assertEquals(reply.body, direct.body);
    const record = engines[0]?.requests.at(-1);
    assertEquals(record?.headers.get("accept-encoding"), "gzip;q=0.5, br");
  });
});

test("a plain answer stays plain, whatever the client accepts (D15 obot #5930)", async () => {
  await withWorld(ONE, async ({ port }) => {
    const reply = await call(
      port,
      bare("GET", "/v1/models", ["Accept-Encoding: gzip, br"]),
    );
    assertEquals(reply.headers.get("content-encoding"), undefined);
    assertMatch(reply.body, /^\{"object":"list"/);
  });
});

test("repeated fields arrive whole, in both directions (PS #998)", async () => {
  let seen = "";
  await withScript(
    async (peer, request) => {
      seen = request.toLowerCase();
      await peer.send(
        "HTTP/1.1 200 OK\r\nServer: engine\r\nSet-Cookie: a=1; Path=/\r\n" +
          "Set-Cookie: b=2\r\nX-Latin: caf\u00e9\r\nContent-Length: 0\r\n\r\n",
      );
    },
    async ({ port }) => {
      const reply = await call(
        port,
        bare("GET", "/x", [
          "X-Many: 1",
          "X-Many: 2",
          "Cookie: a=1",
          "Cookie: b",
        ]),
      );
      assertMatch(seen, /\r\nx-many: 1, 2\r\n/);
      assertMatch(seen, /\r\ncookie: a=1; b\r\n/);
      const lines = reply.headerLines;
      // What an engine is made of is no client's business.
      assertEquals(lines.filter((line) => line.startsWith("server:")), []);
      assertEquals(lines.filter((line) => line.startsWith("set-cookie:")), [
        "set-cookie: a=1; Path=/",
        "set-cookie: b=2",
      ]);
    },
  );
});

test("bytes of header values pass as they are", async () => {
  await withWorld(ONE, async ({ port, engines }) => {
    const value = "caf\u00c3\u00a9 \u00ff\t;\"'";
    await call(port, bare("GET", "/echo", [`X-Any: ${value}`]));
    assertEquals(engines[0]?.requests.at(-1)?.headers.get("x-any"), value);
  });
});

test("a request id is kept, sent upstream and returned (AB #2527, PS #1017)", async () => {
  await withWorld(ONE, async ({ port, engines }) => {
    const parent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    const given = ["X-Request-Id: abc-1", `traceparent: ${parent}`];
    const reply = await call(port, post("/echo", "{}", given));
    const record = engines[0]?.requests.at(-1);
    assertEquals(reply.headers.get("x-request-id"), "abc-1");
    assertEquals(record?.headers.get("x-request-id"), "abc-1");
    assertEquals(record?.headers.get("traceparent"), parent);
    const own = await call(port, post("/echo", "{}"));
    const id = own.headers.get("x-request-id");
    assertMatch(id ?? "", /^req-[0-9a-v]{16}$/);
    assertEquals(engines[0]?.requests.at(-1)?.headers.get("x-request-id"), id);
  });
});

test("a request id that could forge a log line is replaced (sgl-router X-Request-Id)", async () => {
  await withWorld(ONE, async ({ port, engines }) => {
    const bad = ["a INFO forged", "\u00e9", "x".repeat(129), ""];
    for (const id of bad) {
      const reply = await call(
        port,
        post("/echo", "{}", [`X-Request-Id: ${id}`]),
      );
      assertMatch(reply.headers.get("x-request-id") ?? "", /^req-/);
      const lines = engines[0]?.requests.at(-1)?.headerLines ?? [];
      assertEquals(
        lines.filter((line) => /^x-request-id:/i.test(line)).length,
        1,
      );
    }
  });
});

test("100-continue is met by the gateway", async () => {
  await withWorld(ONE, async ({ port, engines }) => {
    using client = await RawClient.connect(port);
    const request = post("/echo", "{}", ["Expect: 100-continue"]);
    await client.send(request.slice(0, -2));
    await client.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
    await client.send("{}");
    assertEquals((await client.reply()).status, 200);
    const headers = engines[0]?.requests.at(-1)?.headers;
    assertEquals(headers?.get("expect"), undefined);
  });
});

test("requests on one connection are answered in order", async () => {
  await withWorld(ONE, async ({ port }) => {
    using client = await RawClient.connect(port);
    const bodies = Array.from({ length: 10 }, (_, i) => `{"n":${i}}`);
    await client.send(bodies.map((body) => post("/echo/body", body)).join(""));
    for (const body of bodies) {
      assertEquals((await client.reply()).body, body);
    }
  });
});
