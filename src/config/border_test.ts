/**
 * The keys under `tls`, `cors` and `forwarding`, bad values first.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import type { Config } from "./config.ts";
import { complaintsText, parseConfig } from "./parse.ts";

function parse(document: unknown): Config | string {
  const result = parseConfig(document, {
    names: {
      parseSource: () => {},
      defaultSources: ["header:x-session-id"],
      policyNames: ["rendezvous", "power_of_two"],
      schedulingNames: ["critical_path", "fcfs", "las"],
    },
  });
  return result.kind === "refused"
    ? complaintsText(result.complaints)
    : result.config;
}

const CERTIFIED = { "cert_file": "/c", "key_file": "/k" };

/** An endpoint with these keys of `tls`. */
function trusting(tls: unknown, url = "https://e"): unknown {
  return { endpoints: [{ url, tls }] };
}

test("what contradicts itself or opens too much is refused", () => {
  const table: [document: unknown, complaint: string][] = [
    [{ tls: { "cert_file": "/c" } }, '"tls.key_file" as it must be given too'],
    [{ tls: { "key_file": "/k" } }, '"tls.cert_file" as it must be given too'],
    [{ tls: { "cert_file": "" } }, "must be the path of a file, or none"],
    [{ tls: { "cert_file": 1 } }, "must be the path of a file, or none"],
    [{ tls: { "redirect_listen": ":80" } }, "must be HOST:PORT"],
    [{ tls: { "redirect_listen": "0.0.0.0:80" } }, 'a "tls.cert_file"'],
    [
      { tls: { ...CERTIFIED, "redirect_listen": "127.0.0.1:8080" } },
      'must not be the address "listen"',
    ],
    [
      { tls: { ...CERTIFIED, "redirect_listen": "0.0.0.0:8081" } },
      'must not be the address "admin.listen"',
    ],
    [{ cors: { origins: "https://a" } }, "must be a list"],
    [{ cors: { origins: ["*", "https://a"] } }, "must be an origin"],
    [{ cors: { origins: ["https://*.a"] } }, "must be an origin"],
    [{ cors: { origins: ["https://a/"] } }, "must be an origin"],
    [{ cors: { origins: ["https://A"] } }, "must be an origin"],
    [{ cors: { origins: ["https://a:443"] } }, "must be an origin"],
    [{ cors: { origins: ["a.example"] } }, "must be an origin"],
    [{ cors: { origins: ["null"] } }, "must be an origin"],
    [
      { cors: { origins: ["*"], credentials: true } },
      '"cors.credentials" as it must be false',
    ],
    [{ forwarding: { "trusted_proxies": "10.0.0.0/8" } }, "must be a list"],
    [{ forwarding: { "trusted_proxies": ["10.0.0.1/8"] } }, "without bits"],
    [{ forwarding: { "trusted_proxies": ["proxy"] } }, "must be an address"],
    [
      { forwarding: { "proxy_fields": "x-real-ip" } },
      "x-forwarded or forwarded",
    ],
    [{ forwarding: { "allow_headers": ["X-A"] } }, "in lower case"],
    [{ forwarding: { "hide_headers": ["*"] } }, "a beginning of names"],
    [{ forwarding: { "hide_headers": ["content-type"] } }, "needs"],
    [{ forwarding: { "hide_headers": ["x-tryst-*"] } }, "needs"],
    [trusting("ca"), "must be a mapping of ca_file"],
    [trusting({ "ca_fil": "/a" }), 'did you mean "ca_file"'],
    [trusting({ "ca_file": "" }), "must be the path of a file"],
    [trusting({ "cert_file": "/c" }), 'must have a "key_file" too'],
    [trusting({ insecure: "yes" }), "must be true or false"],
    [trusting({ insecure: true, "ca_file": "/a" }), "must be false beside"],
    [trusting({ "server_name": "a b" }), "must be the name in"],
    [trusting({ "ca_file": "/a" }, "http://e"), "must have an https:// URL"],
    [trusting({ "ca_file": "/a" }, "unix:/e"), "must have an https:// URL"],
  ];
  for (const [document, complaint] of table) {
    const text = parse(document);
    assertEquals(typeof text, "string", JSON.stringify(document));
    assertStringIncludes(String(text), complaint);
  }
});

test("by default nothing is encrypted, allowed or believed", () => {
  const config = parse({}) as Config;
  assertEquals(config.tls.certFile, undefined);
  assertEquals(config.cors, { origins: [], credentials: false });
  assertEquals(config.forwarding.trustedProxies, []);
  assertEquals(config.forwarding.hideHeaders.includes("server"), true);
});

test("what is well said is taken", () => {
  const origins = [
    "https://app.example",
    "http://localhost:3000",
    "http://[::1]:8",
    "vscode-webview://a1b2",
  ];
  const config = parse({
    tls: { ...CERTIFIED, "redirect_listen": "0.0.0.0:80" },
    cors: { origins, credentials: true },
    forwarding: {
      "trusted_proxies": ["10.0.0.0/8", "::1", "192.0.2.1"],
      "proxy_fields": "forwarded",
      "allow_headers": ["x-data-parallel-rank"],
      "hide_headers": ["server", "x-inside-*"],
    },
    ...trusting({
      "ca_file": "/a",
      "server_name": "gpu",
      insecure: false,
    }) as object,
  }) as Config;
  assertEquals(config.tls.redirectListen, { hostname: "0.0.0.0", port: 80 });
  assertEquals(config.cors.origins, origins);
  assertEquals(config.forwarding.hideHeaders, ["server", "x-inside-*"]);
  const [endpoint] = config.endpoints;
  assertEquals(endpoint?.address, {
    kind: "tcp",
    hostname: "e",
    port: 443,
    tls: true,
    trust: {
      caFile: "/a",
      serverName: "gpu",
      certFile: undefined,
      keyFile: undefined,
      insecure: false,
    },
  });
});
