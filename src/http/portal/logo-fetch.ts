import { type Fault, Problem, invalid, unavailable } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import { isSuccess } from "../../destinations/destination.ts";
import type { TransportRequest, TransportResult } from "../../transport/types.ts";
import type { UrlParts } from "../../transport/url-parts.ts";
import { USER_AGENT } from "../../transport/user-agent.ts";
import type { Logo } from "../../store/resources/logos.ts";
import type { Needs } from "../framework/services.ts";
import { checkSavedAddress } from "../shared/saved-address.ts";

const POINTER = "/branding/logo_url";
/** The fetch is short, as the person who saves the address waits for it. */
const TIMEOUT_MS = 10_000;
const VERSION_CHARACTERS = 16;

/**
 * What a picture begins with, in hex; nothing is taken from the server's word. SVG is a document that can
 * hold scripts, so it is none of them.
 */
const PICTURES: readonly { contentType: string; start: RegExp }[] = [
  { contentType: "image/png", start: /^89504e470d0a1a0a/ },
  { contentType: "image/jpeg", start: /^ffd8ff/ },
  { contentType: "image/gif", start: /^47494638(37|39)61/ },
  { contentType: "image/webp", start: /^52494646.{8}57454250/ },
];
const START_BYTES = 12;

/** GETs a logo once, through the address guard. Throws 422 where that is not a small picture. */
export async function fetchLogo(
  services: Needs<"guard" | "transport" | "actors">,
  projectId: number,
  address: string,
): Promise<Logo> {
  const verdict = await checkSavedAddress(services, projectId, address);
  if (!verdict.ok) throw unsafe(verdict.reason);
  const { url } = verdict;
  const result = await services.actors.inSlot(projectId, () => services.transport.send(requestOf(url)));
  if (result === null)
    throw unavailable("The account has too many attempts in flight. Try again in a moment.");
  return readLogo(result);
}

function requestOf(url: UrlParts): TransportRequest {
  return {
    method: "GET",
    url,
    owner: url.href,
    headers: [
      ["user-agent", USER_AGENT],
      ["accept", "image/png, image/jpeg, image/webp, image/gif"],
    ],
    body: new Uint8Array(0),
    timeoutMs: TIMEOUT_MS,
    maxReadBytes: limit("logoBytesMax"),
    maxKeepBytes: limit("logoBytesMax"),
  };
}

function readLogo(result: TransportResult): Logo {
  if (result.kind === "blocked") throw unsafe("The logo's address is not allowed.");
  if (result.kind !== "response") throw unfit("The logo could not be fetched: its server did not answer.");
  if (!isSuccess(result.status)) {
    throw unfit(
      `The logo could not be fetched: its server answered ${result.status}. Redirects are not followed.`,
    );
  }
  if (result.truncated) throw unfit(`The logo may have at most ${limit("logoBytesMax") / 1024} KiB.`);
  const bytes = Buffer.from(result.body);
  const begin = bytes.toString("hex", 0, START_BYTES);
  const picture = PICTURES.find(({ start }) => start.test(begin));
  if (picture === undefined) throw unfit("The logo must be a PNG, JPEG, WebP or GIF picture.");
  const version = new Bun.CryptoHasher("sha256").update(bytes).digest("hex").slice(0, VERSION_CHARACTERS);
  return { contentType: picture.contentType, version, bytes };
}

function unfit(detail: string): Problem {
  return invalid(POINTER, detail);
}

function unsafe(detail: string): Problem {
  const errors: Fault[] = [{ pointer: POINTER, detail }];
  return new Problem("unsafe_destination", detail, { errors });
}
