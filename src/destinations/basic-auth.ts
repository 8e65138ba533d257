import type { DestinationConfig, DestinationField } from "./destination.ts";
import { base64, textOf } from "./requests.ts";

/** Basic authentication (RFC 7617), for the kinds whose servers ask for it. */

const SCHEME = "Basic ";

/** The two fields; `help` says whose name it is. */
export function basicAuthFields(help: string, required = true): readonly DestinationField[] {
  const pattern = String.raw`[^:\x00-\x1f\x7f]{1,255}`;
  return [
    { name: "username", label: "User name", help, required, secret: false, address: false, pattern },
    { name: "password", label: "Password", help: "Of this user.", required, secret: true, address: false },
  ];
}

/** `authorization`; null where no user is given. */
export function basicAuthOf(config: DestinationConfig): string | null {
  const username = textOf(config, "username");
  return username === null ? null : SCHEME + base64(`${username}:${textOf(config, "password") ?? ""}`);
}

/** What must not be shown beside the password: a server may repeat the header. */
export function basicAuthSecrets(config: DestinationConfig): readonly string[] {
  const authorization = basicAuthOf(config);
  return authorization === null ? [] : [authorization.slice(SCHEME.length)];
}

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "User name": "Benutzername",
  Password: "Passwort",
  "Of this user.": "Dieses Benutzers.",
};
