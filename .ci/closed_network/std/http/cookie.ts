/**
 * Stand-in for `@std/http/cookie`: the same names, and the same behavior in ordinary use.
 *
 * Invariant: values are never decoded, as the package does not decode them.
 *
 * @module
 */
/** A cookie as set in a response. */
export interface Cookie {
  name: string;
  value: string;
  expires?: Date | number;
  maxAge?: number;
  domain?: string;
  path?: string;
  secure?: boolean;
  httpOnly?: boolean;
  sameSite?: "Strict" | "Lax" | "None";
  partitioned?: boolean;
  unparsed?: string[];
}

const NAME = /^[!#$%&'*+\-.^_`|~\da-zA-Z]+$/;

/**
 * The request's cookies, by name, in an object without prototype; values as sent, the last duplicate wins.
 * Throws a SyntaxError where a cookie has no name before its `=`.
 */
export function getCookies(headers: Headers): Partial<Record<string, string>> {
  const header = headers.get("Cookie");
  const cookies: Partial<Record<string, string>> = Object.create(null);
  if (header === null) return cookies;
  for (const pair of header.split(";")) {
    const at = pair.indexOf("=");
    const name = at < 0 ? pair : pair.slice(0, at);
    if (name === "") throw new SyntaxError("Cookie cannot start with '='");
    cookies[name.trim()] = at < 0 ? "" : pair.slice(at + 1);
  }
  return cookies;
}

/** Appends a Set-Cookie header. Throws a SyntaxError on an invalid name. */
export function setCookie(headers: Headers, cookie: Cookie): void {
  const { name } = cookie;
  if (!name) return;
  if (!NAME.test(name)) throw new SyntaxError(`Invalid cookie name: "${name}"`);
  // deno-lint-ignore no-control-regex -- these are what a value may not hold
  if (/[\x00-\x20\x22\x2c\x3b\x5c\x7f-\uffff]/.test(cookie.value)) {
    throw new SyntaxError(
      `RFC2616 cookie '${name}' cannot contain that character`,
    );
  }
  const secure = cookie.secure || name.startsWith("__Secure-") ||
    name.startsWith("__Host-");
  const host = name.startsWith("__Host-");
  const out = [`${name}=${cookie.value}`];
  if (secure) out.push("Secure");
  if (cookie.httpOnly) out.push("HttpOnly");
  if (cookie.partitioned) out.push("Partitioned");
  if (typeof cookie.maxAge === "number" && Number.isInteger(cookie.maxAge)) {
    if (cookie.maxAge < 0) throw new RangeError("Max-Age must not be negative");
    out.push(`Max-Age=${cookie.maxAge}`);
  }
  if (cookie.domain && !host) out.push(`Domain=${cookie.domain}`);
  if (cookie.sameSite) out.push(`SameSite=${cookie.sameSite}`);
  if (host) out.push("Path=/");
  else if (cookie.path) out.push(`Path=${cookie.path}`);
  if (cookie.expires !== undefined) {
    out.push(`Expires=${new Date(cookie.expires).toUTCString()}`);
  }
  if (cookie.unparsed) out.push(cookie.unparsed.join("; "));
  headers.append("Set-Cookie", out.join("; "));
}

/** Appends a Set-Cookie header that expires the cookie. */
export function deleteCookie(
  headers: Headers,
  name: string,
  attributes?: Pick<
    Cookie,
    "path" | "domain" | "secure" | "httpOnly" | "partitioned"
  >,
): void {
  setCookie(headers, { name, value: "", expires: new Date(0), ...attributes });
}
