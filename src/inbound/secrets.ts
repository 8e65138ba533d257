import type { Bytes } from "./digest.ts";

/** The forms in which providers show their secrets, and how each becomes a key. */

export interface SecretForm {
  /** What the customer is told to enter. */
  readonly help: string;
  /** One of this form, for documents. */
  readonly example: string;
  /** The key; null where the text is not of this form. */
  decode(secret: string): Bytes | null;
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const HEX = /^(?:[0-9a-fA-F]{2})+$/;

function decodeBase64(text: string): Uint8Array | null {
  return BASE64.test(text) ? Buffer.from(text, "base64") : null;
}

/** The secret's text is the key, prefix included. */
export const textSecret: SecretForm = {
  help: "Paste it exactly as it is shown.",
  example: "the-secret-as-it-is-shown",
  decode: (secret) => (secret === "" ? null : secret),
};

/** The text stands in a header: visible ASCII, with spaces within. Others no request could bring. */
export const headerSecret: SecretForm = {
  help: "Paste it exactly as it is shown: visible ASCII characters, no space at either end.",
  example: textSecret.example,
  decode: (secret) => (/^[!-~](?:[ -~]*[!-~])?$/.test(secret) ? secret : null),
};

export const hexSecret: SecretForm = {
  help: "Hexadecimal digits, as shown.",
  example: "31b1f19d902c9fc26925851bc57ae634d207605beb94b53177dc0f2d30bc461f",
  decode: (secret) => (HEX.test(secret) ? Buffer.from(secret, "hex") : null),
};

export const base64Secret: SecretForm = {
  help: "Base64 text, as shown.",
  example: "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  decode: decodeBase64,
};

/**
 * Standard Webhooks: `whsec_` (Supabase: `v1,whsec_`) and base64; some senders show it without the prefix.
 */
export const whsecSecret: SecretForm = {
  help: "Paste it with its prefix whsec_ where it has one.",
  example: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  decode: (secret) => decodeBase64(secret.replace(/^(?:v1,)?whsec_/, "")),
};

/** As `whsecSecret`, but without the prefix the text itself is the key (OpenAI's SDK). */
export const whsecOrTextSecret: SecretForm = {
  help: whsecSecret.help,
  example: whsecSecret.example,
  decode: (secret) => (secret.startsWith("whsec_") ? whsecSecret.decode(secret) : textSecret.decode(secret)),
};

/** The key is the NFKD normal form of the text (EasyPost). */
export const normalisedSecret: SecretForm = {
  help: textSecret.help,
  example: textSecret.example,
  decode: (secret) => textSecret.decode(secret.normalize("NFKD")),
};

/** `user:password` of HTTP Basic; the first colon parts them (RFC 7617). */
export const basicSecret: SecretForm = {
  help: "user:password, as entered at the provider.",
  example: "user:password",
  decode: (secret) => (secret.indexOf(":") > 0 ? secret : null),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Paste it exactly as it is shown.": "Fügen Sie es genau so ein, wie es gezeigt wird.",
  "Paste it exactly as it is shown: visible ASCII characters, no space at either end.":
    "Fügen Sie es genau so ein, wie es gezeigt wird: sichtbare ASCII-Zeichen, kein Leerzeichen am Anfang oder Ende.",
  "Paste it with its prefix whsec_ where it has one.": "Mit dem Präfix whsec_ einfügen, wenn es eines hat.",
  "Hexadecimal digits, as shown.": "Hexadezimale Ziffern, wie gezeigt.",
  "Base64 text, as shown.": "Base64-Text, wie gezeigt.",
  "user:password, as entered at the provider.": "benutzer:passwort, wie beim Anbieter eingetragen.",
};
