/**
 * The keys under `auth`: whether clients must present an API key.
 *
 * The keys themselves are no part of the configuration, which is read by many
 * and copied about. They stand in a file of their own.
 *
 * Invariant: nothing here is a secret.
 *
 * @module
 */
import type { Field } from "./field.ts";
import { readPathOrNone } from "./path.ts";

/** What is configured of authentication. */
export interface AuthSettings {
  /** The file with the keys of clients; `undefined` asks for none. */
  readonly keysFile: string | undefined;
}

/** The keys of the `auth` section. */
export const AUTH_FIELDS: {
  readonly authKeysFile: Field<AuthSettings["keysFile"]>;
} = {
  authKeysFile: {
    path: "auth.keys_file",
    initial: "none",
    doc: "File with the API keys that clients must present, one a line as" +
      " TENANT:KEY or TENANT:sha256=HEX, or none to ask for none",
    // A file that is read while it is written must not open the gateway.
    needsRestart: true,
    read: readPathOrNone,
  },
};
