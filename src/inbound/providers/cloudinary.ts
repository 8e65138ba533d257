import { checkedDocs, officialSdk } from "../define.ts";
import { hash } from "../digest.ts";
import { all, bodyDigest, bodyHash, field, firstOf } from "../facts.ts";
import type { RefusalReason } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { type Comparison, comparedScheme } from "../schemes/compared.ts";
import { type Arrival, faultOfTime, headerOf, WHOLE_BODY } from "../schemes/scheme.ts";
import { within } from "../window.ts";

/** Cloudinary: a plain hash of body, time and secret; SHA-1, or SHA-256 where the account has chosen it. */

const SIGNATURE = "x-cld-signature";
const TIMESTAMP = "x-cld-timestamp";
const WINDOW = within(7200);

function compare(arrival: Arrival): Comparison | RefusalReason {
  const { request } = arrival;
  const signature = headerOf(request, SIGNATURE);
  const timestamp = headerOf(request, TIMESTAMP);
  if (signature === "" || timestamp === "") return "missing_header";
  const fault = faultOfTime(timestamp, "s", WINDOW, arrival);
  if (fault !== null) return fault;
  return {
    // A browser that uploads has a signature of its parameters by this key: `folder=x&timestamp=1315060510`
    // reads as a form, and the time of a header.
    needsJson: true,
    given: [signature.toLowerCase()],
    expected: (secret) =>
      (["sha1", "sha256"] as const).map((algorithm) =>
        hash(algorithm, [request.body, timestamp, secret], "hex"),
      ),
  };
}

const CHECKS = "SHA-1 or SHA-256 in hex over {body}{timestamp}{secret}";

export const CLOUDINARY: ProviderRow = {
  key: "cloudinary",
  name: "Cloudinary",
  scheme: comparedScheme({
    name: "hash",
    headers: [SIGNATURE, TIMESTAMP],
    checks: CHECKS,
    covers: WHOLE_BODY,
    window: WINDOW,
    compare,
  }),
  secretFrom: "customer",
  secretLabel: "API secret",
  typeExample: "upload",
  eventType: field("notification_type"),
  // Of one upload each add-on notifies, with the same type and ids.
  deliveryId: firstOf(
    all(field("notification_type"), field("request_id"), field("public_id"), bodyDigest),
    bodyHash,
  ),
  verifiedWith: officialSdk("cloudinary", "2.11.0"),
  docs: checkedDocs(
    "The parameter notification_url of a call to the Cloudinary API.",
    "Cloudinary Console: Settings, API Keys, API Secret.",
    "https://github.com/cloudinary-devs/skills",
    "The newest API key signs where the account has several.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Cloudinary Console: Settings, API Keys, API Secret.":
    "Cloudinary Console: Settings, API Keys, API Secret.",
};
