/** Which headers are credentials: names that are in use, and the list in the docs. */
import { expect, test } from "bun:test";
import { DOC_PAGES } from "../../src/http/docs/pages.ts";
import {
  CREDENTIAL_PARTS,
  CREDENTIAL_WORDS,
  isCredentialHeader,
} from "../../src/destinations/credential-headers.ts";

test.each([
  ...["Authorization", "proxy-authorization", "x-authorization", "x-forwarded-authorization", "x-auth"],
  ...["x-auth-token", "X-Auth-Key", "x-user-auth", "auth", "authentication", "x-authentication", "Cookie"],
  ...["x-session", "x-session-id", "sessionid", "x-sid", "x-signature", "x-hub-signature-256", "x-sig"],
  ...["x-api-key", "apikey", "x-apikey", "api_key", "x-functions-key", "ocp-apim-subscription-key"],
  ...["x-access-token", "x-csrf-token", "x-amz-security-token", "private-token", "x-vault-token"],
  ...["x-secret", "x-webhook-secret", "x-client-secret", "x-password", "x-passwd", "x-pwd", "x-passphrase"],
  ...["x-credentials", "x-hmac", "x-hmac-sha256", "x-jwt", "x-jwt-assertion", "x-bearer", "x-otp", "x-pin"],
])("%s is a credential", (name) => expect(isCredentialHeader(name)).toBe(true));

test.each([
  ...["x-request-id", "x-trace-id", "traceparent", "tracestate", "x-correlation-id", "x-forwarded-for"],
  ...["x-tenant", "x-environment", "accept", "accept-language", "content-language", "x-author", "x-design"],
  ...["x-source", "x-version", "x-consumer", "x-shipping", "x-position", "www-authenticate", "etag"],
  ...["webhook-id", "webhook-timestamp", "webhook-signature", "x-ms-version", "x-amz-acl", "prefer"],
])("%s is shown", (name) => expect(isCredentialHeader(name)).toBe(false));

test.each([
  ["parts", CREDENTIAL_PARTS],
  ["words", CREDENTIAL_WORDS],
])("the docs list the %s that make a credential", (name, listed) => {
  const page = DOC_PAGES.get("retention") ?? "";
  const shown = new RegExp(`<!-- ${name} -->(.*)<!-- /${name} -->`).exec(page)?.[1];
  expect([...(shown ?? "").matchAll(/`([^`]+)`/g)].map(([, word]) => word ?? "")).toEqual(listed);
});
