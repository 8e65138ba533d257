/**
 * Grants access tokens to a service account as Google's server does: the assertion is verified with the
 * account's public key.
 */
import { generateKeyPairSync } from "node:crypto";
import { jwtVerify } from "jose";

const EMAIL = "sealpost@acme-1.iam.example.com";
const PEM = {
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
} as const;
const makeKeys = () => generateKeyPairSync("rsa", { modulusLength: 2048, ...PEM });

export class TokenServer implements AsyncDisposable {
  readonly #keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
  readonly #server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => this.#grant(request) });
  granted = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/token`;
  }

  /** The key file of the account; with a key that the server does not know, where told so. */
  keyFile({ isForged = false } = {}): string {
    const own = this.#keys.privateKey.export({ type: "pkcs8", format: "pem" });
    return JSON.stringify({
      type: "service_account",
      private_key_id: "3f1c5a",
      private_key: isForged ? makeKeys().privateKey : own,
      client_email: EMAIL,
      token_uri: this.url,
    });
  }

  async #grant(request: Request): Promise<Response> {
    const form = new URLSearchParams(await request.text());
    const expected = { issuer: EMAIL, audience: this.url, algorithms: ["RS256"], maxTokenAge: "1h" };
    try {
      const { payload } = await jwtVerify(form.get("assertion") ?? "", this.#keys.publicKey, expected);
      if (typeof payload["scope"] !== "string") throw new Error("no scope");
    } catch (error) {
      const description = error instanceof Error ? error.message : "";
      return Response.json({ error: "invalid_grant", error_description: description }, { status: 400 });
    }
    this.granted++;
    return Response.json({ access_token: `ya29.${this.granted}`, expires_in: 3599, token_type: "Bearer" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }
}
