/**
 * Tenants: whoever has API keys and limits of its own.
 *
 * Invariant: a tenant is known by its name, which is no secret and safe to
 * write anywhere.
 *
 * @module
 */

/** Tenants are organizations and teams of one operator. */
export const TENANTS_MAX = 1_024;

/** Names go into logs and file lines: letters, digits and three marks. */
export const TENANT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** What stands for every tenant that is not listed, and is none itself. */
export const DEFAULT_TENANT = "default";
