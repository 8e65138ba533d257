import { KeyObject } from "node:crypto";
import { decodeProtectedHeader, errors } from "jose";
import { choiceConfig, textConfig } from "../config.ts";
import { checkedDocs, documentation } from "../define.ts";
import { bodyHash, field, firstOf, readValue } from "../facts.ts";
import type { RefusalReason } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { headOf, isCanonical, keySetOf, parseJson } from "../schemes/jwt.ts";
import { isSignedWith } from "../schemes/public-key.ts";
import {
  type Arrival,
  headerOf,
  keylessScheme,
  orRenewed,
  refused,
  type Verdict,
  VERIFIED,
  WHOLE_BODY,
  withoutKeys,
} from "../schemes/scheme.ts";
import { readUnproven } from "../body.ts";

/** Fireblocks v2: a detached JWS (RFC 7515, appendix F) over the body, by keys that it publishes. */

const SIGNATURE = "fireblocks-webhook-signature";
const US = "https://keys.fireblocks.io";
const HOSTS: ReadonlyMap<string, string> = new Map([
  ["us", US],
  ["eu", "https://eu-keys.fireblocks.io"],
  ["eu2", "https://eu2-keys.fireblocks.io"],
  ["sandbox", "https://sandbox-keys.fireblocks.io"],
]);

function regionOf(config: Arrival["material"]["config"]): string {
  return typeof config["region"] === "string" ? config["region"] : "us";
}

function reasonOf(error: unknown): RefusalReason {
  return error instanceof errors.JWKSNoMatchingKey ? "wrong_key_id" : "malformed";
}

async function verifyWith(token: string, isRenewal: boolean, { material, keys }: Arrival): Promise<Verdict> {
  const host = HOSTS.get(regionOf(material.config)) ?? US;
  const answer = await keys.read({ url: `${host}/.well-known/jwks.json` }, isRenewal);
  const keySet = answer.kind === "document" ? keySetOf(parseJson(answer.text)) : null;
  if (!keySet) return withoutKeys("unavailable", "Fireblocks");
  const [head = "", payload = "", signature = ""] = token.split(".");
  try {
    // Not by WebCrypto: a hundred bodies in its thread pool keep the fsync of a commit for a second.
    const key = KeyObject.from(await keySet(decodeProtectedHeader({ protected: head })));
    const isGenuine = isSignedWith(
      key,
      "sha512",
      Buffer.from(`${head}.${payload}`),
      Buffer.from(signature, "base64url"),
    );
    return isGenuine ? VERIFIED : refused("bad_signature");
  } catch (error) {
    return refused(reasonOf(error));
  }
}

/** The keys are the same for all customers: the workspace is what proves the sender. */
function judgeWorkspace({ request, material }: Arrival): Verdict {
  const wanted = material.config["workspace_id"];
  if (typeof wanted !== "string") return VERIFIED;
  const claimed = readUnproven(request.body, { workspaceId: true }, 0);
  return readValue(claimed, "workspaceId") === wanted
    ? { kind: "verified", needsJson: true }
    : refused("unknown_key");
}

async function verify(arrival: Arrival): Promise<Verdict> {
  const detached = headerOf(arrival.request, SIGNATURE);
  const [head = "", middle, signature = ""] = detached.split(".", 3);
  if (detached === "") return refused("missing_header");
  if (middle !== "" || !isCanonical(detached) || !headOf(detached, "RS512")) return refused("malformed");
  const workspace = judgeWorkspace(arrival);
  if (workspace.kind === "refused") return workspace;
  const token = `${head}.${Buffer.from(arrival.request.body).toString("base64url")}.${signature}`;
  const verdict = await orRenewed((isRenewal) => verifyWith(token, isRenewal, arrival));
  return verdict.kind === "verified" ? workspace : verdict;
}

const scheme = keylessScheme({
  name: "jws",
  headers: [SIGNATURE],
  window: null,
  checks: "Detached JWS by RS512 of Fireblocks' published keys, over the body",
  covers: WHOLE_BODY,
  verify,
});

export const FIREBLOCKS: ProviderRow = {
  key: "fireblocks",
  name: "Fireblocks",
  scheme,
  secretFrom: "provider",
  config: [
    choiceConfig("region", "Region", "Where your workspace is: us (default), eu, eu2 or sandbox.", [
      ...HOSTS.keys(),
    ]),
    {
      ...textConfig(
        "workspace_id",
        "Workspace id",
        "Your workspace: without it every Fireblocks customer can call this source.",
      ),
      isAdvised: true,
    },
  ],
  typeExample: "transaction.created",
  eventType: firstOf(field("eventType"), field("type")),
  deliveryId: firstOf(field("id"), bodyHash),
  verifiedWith: documentation("https://developers.fireblocks.com/reference/validating-webhooks"),
  docs: checkedDocs(
    "POST /v1/webhooks of the Fireblocks API, field url.",
    "Nothing secret to enter; set workspace_id to your own workspace.",
    "https://github.com/fireblocks/ts-sdk/blob/master/docs/apis/WebhooksV2Api.md",
    "Its keys are the same for all customers: set workspace_id.",
    "Webhooks v1 (header Fireblocks-Signature) are not read.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Workspace id": "Workspace-Id",
  "Where your workspace is: us (default), eu, eu2 or sandbox.":
    "Wo Ihr Workspace liegt: us (ohne Angabe), eu, eu2 oder sandbox.",
  "Your workspace: without it every Fireblocks customer can call this source.":
    "Ihr Workspace: Ohne ihn kann jeder Kunde von Fireblocks diese Quelle rufen.",
};
