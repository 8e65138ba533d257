import { createHash, timingSafeEqual } from "node:crypto";
import { Type } from "@sinclair/typebox";
import { invalid, Problem, unavailable } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import type { Endpoint } from "../../core/model.ts";
import type { Message } from "../../destinations/destination.ts";
import { isPolled } from "../../destinations/destinations.ts";
import type { PollPage, PollRefusal } from "../../delivery/polling/poller.ts";
import { CHALLENGE, endpointSecret } from "../framework/access.ts";
import { disabledConflict } from "./change.ts";
import type { AnswerRoom } from "../framework/large-answer.ts";
import { rateLimitHeaders, TokenBuckets } from "../framework/ratelimit.ts";
import { type Answer, type AnyRoute, type RequestContext, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { requireHere } from "../framework/moved.ts";

/** Where the customer's own program fetches what waits for it. */
export function pollRoutes(
  services: Needs<"ids" | "tenants" | "endpoints" | "poller" | "pollRateLimit" | "wallNow">,
): AnyRoute[] {
  return [pollRoute(services, new TokenBuckets(services.pollRateLimit))];
}

const pollQuery = Type.Object(
  {
    cursor: Type.Optional(
      Type.String({
        maxLength: 200,
        description: "`next_cursor` of the page before: acknowledges everything up to the end of that page.",
        expected: "the `next_cursor` of a page of this endpoint",
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limit("pollLimitMax"),
        default: limit("pollLimitDefault"),
        description: `Messages that the page holds at most; written as it has them they take at most ${limit("pollAnswerBytesMax")} bytes together, but a larger one comes alone.`,
      }),
    ),
    wait: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: limit("pollWaitSecondsMax"),
        default: 0,
        description: "Seconds that the answer may wait where nothing is there yet.",
      }),
    ),
  },
  { additionalProperties: false },
);

const messageShape = Type.Object(
  {
    headers: Type.Object({
      "webhook-id": Type.String({ description: "The same whenever this delivery is handed out." }),
      "webhook-timestamp": Type.String({ description: "Seconds: when this page was made." }),
      "webhook-signature": Type.String({ description: "One entry for each valid secret and version." }),
    }),
    body: Type.String({ description: "The exact text that is signed: verify it before you parse it." }),
  },
  { $id: "PolledMessage" },
);

const pageShape = Type.Object(
  {
    data: Type.Array(messageShape, { description: "Oldest first." }),
    next_cursor: Type.String({ description: "Give it as `cursor` once this page is worked off." }),
    done: Type.Boolean({
      description: `Nothing more waits now. False with an empty page: what was looked at for ${limit("pollWaitSecondsMax")} seconds could not be rendered, and more follows: poll again.`,
    }),
  },
  { $id: "PolledPage" },
);

const CURSOR_EXAMPLE = "ZXBfMDFLQUhNOFpaWjAwSzFNMk4zUDRRNVI2UzcucG9zXzAxS0FITTlRN1cwMEI1QzFEN0U5RjNHNkhK";

const pageExample = {
  data: [
    {
      headers: {
        "webhook-id": "msg_01KAHM9Q7W00B5C1D7E9F3G6HJ",
        "webhook-timestamp": "1795165200",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
      },
      body: '{"type":"invoice.paid","timestamp":"2026-11-20T09:00:00.000Z","data":{"id":"in_42","total":990}}',
    },
  ],
  next_cursor: CURSOR_EXAMPLE,
  done: true,
};

type PollNeeds = Needs<"ids" | "tenants" | "endpoints" | "poller" | "wallNow">;

function pollRoute(services: PollNeeds, buckets: TokenBuckets): AnyRoute {
  return route({
    method: "GET",
    path: "/poll/:id",
    operationId: "poll",
    tag: "Polling",
    summary: "Fetch what waits for an endpoint of the kind poll",
    description:
      "Oldest first, each message signed at this moment. Nothing is taken off by reading: a page comes again until its `next_cursor` is " +
      "sent back, which acknowledges everything up to its end; those deliveries are `delivered` then. Without a cursor the page " +
      "begins behind the last acknowledged message. Several pollers of one endpoint get the same messages: tell repeated ones by " +
      "`webhook-id`. A paused endpoint hands out nothing.",
    access: "endpoint",
    budget: "none",
    query: pollQuery,
    waitMaxSeconds: limit("pollWaitSecondsMax"),
    refusesHead: true,
    takesAnyPath: true,
    answers: {
      200: { description: "The page; it may be empty.", schema: pageShape, example: pageExample },
    },
    refuses: {
      conflict: "The endpoint is disabled, or not of the kind `poll`.",
      rate_limited: "Too many polls of this endpoint in a second, or waiting at once.",
    },
    handle: (context) => answerPoll(services, buckets, context),
  });
}

async function answerPoll(
  services: PollNeeds,
  buckets: TokenBuckets,
  context: RequestContext<"/poll/:id", "endpoint", typeof pollQuery>,
): Promise<Answer> {
  const { params, query, request } = context;
  const secret = endpointSecret(request);
  const endpoint = requireOpened(services, params.id, secret);
  const rate = charge(services, buckets, endpoint);
  if (!isPolled(endpoint.kind)) {
    throw new Problem("conflict", "This endpoint is pushed to: only those of the kind poll are polled.");
  }
  const accountId = services.tenants.accountIdOf(endpoint.projectId);
  const room = context.answerFor(accountId, `endpoint:${endpoint.id}`);
  const page = await services.poller.poll(endpoint.id, {
    position: query.cursor === undefined ? 0 : readCursor(services, endpoint.id, query.cursor),
    limit: query.limit ?? limit("pollLimitDefault"),
    waitMs: (query.wait ?? 0) * 1000,
    signal: request.signal,
    write: (message, before) => writeMessage(message, before, room),
    isAllowed: () => isStillOpenedBy(services, endpoint.id, secret),
  });
  if (typeof page === "string") throw REFUSALS[page]();
  const body = pageOf(page, writeCursor(services, endpoint.id, page.position));
  return { status: 200, body, headers: { ...rate, "content-type": "application/json" } };
}

/**
 * As its page has it, behind so many bytes: written in the turn that renders it, and counted in its room, in
 * bytes: a text takes twice as many where one character is above Latin-1. Throws 503 without room.
 */
function writeMessage(message: Message, before: number, room: Pick<AnswerRoom, "reach">): Uint8Array {
  const bytes = Buffer.from(JSON.stringify(messageOf(message)));
  room.reach(before + bytes.length);
  return bytes;
}

const COMMA = Buffer.from(",");

function pageOf({ messages, done }: PollPage, cursor: string): Uint8Array<ArrayBuffer> {
  const data = messages.flatMap((message, at) => (at === 0 ? [message] : [COMMA, message]));
  const end = `],"next_cursor":${JSON.stringify(cursor)},"done":${done}}`;
  return Buffer.concat([Buffer.from('{"data":['), ...data, Buffer.from(end)]);
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

function messageOf({ id, timestampSeconds, signature, body }: Message) {
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": signature,
  };
  return { headers, body: decoder.decode(body) };
}

const UNKNOWN = "This is not the secret of this endpoint.";

/**
 * The endpoint that the secret opens. Throws the same 401 for a wrong secret and for an endpoint that is
 * not there.
 */
function requireOpened(
  services: Needs<"ids" | "tenants" | "endpoints" | "wallNow">,
  id: string,
  secret: string,
): Endpoint {
  const key = services.ids.decode("ep", id);
  const endpoint = key === null ? undefined : services.endpoints.get(key);
  // Of an account that has moved, another cell knows the secret; here the endpoint may be deleted by now.
  const of = endpoint ?? (key === null ? undefined : services.endpoints.getAnyway(key));
  if (of !== undefined) requireHere(services, of.projectId);
  const token = digest(secret);
  // Two comparisons whatever there is to compare with: time tells nothing either.
  const overlap = overlapOf(services, endpoint);
  const isCurrent = timingSafeEqual(token, digest(endpoint?.secret ?? ""));
  const isPrevious = timingSafeEqual(token, digest(overlap?.secret ?? ""));
  if (endpoint && (isCurrent || isPrevious)) return endpoint;
  throw new Problem("unauthenticated", UNKNOWN, CHALLENGE);
}

/** The secret has opened the endpoint: its holder learns no other by the time of this plain comparison. */
function isStillOpenedBy(
  services: Needs<"endpoints" | "wallNow">,
  endpointId: number,
  secret: string,
): boolean {
  const endpoint = services.endpoints.get(endpointId);
  return secret === endpoint?.secret || secret === overlapOf(services, endpoint)?.secret;
}

/** The secret before, while it is still valid. */
function overlapOf({ wallNow }: Needs<"wallNow">, endpoint: Endpoint | undefined): Endpoint["previous"] {
  return endpoint?.previous && endpoint.previous.expiresAt > wallNow() ? endpoint.previous : null;
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/**
 * Counted per endpoint, once the secret is right: nobody else can use it up. Answers the headers that tell
 * of it.
 */
function charge(services: Needs<"wallNow">, buckets: TokenBuckets, { id }: Endpoint): Record<string, string> {
  const { perSecond } = buckets;
  if (perSecond === 0) return {};
  const allowance = buckets.take(String(id), 1, services.wallNow());
  const rate = rateLimitHeaders("poll", perSecond, allowance);
  if (allowance.isGranted) return rate;
  const headers = { ...rate, "retry-after": String(allowance.retryAfterSeconds) };
  throw new Problem("rate_limited", `The limit of this endpoint is ${perSecond} a second.`, { headers });
}

const REFUSALS: Readonly<Record<PollRefusal, () => Problem>> = {
  gone: () => new Problem("unauthenticated", UNKNOWN, CHALLENGE),
  disabled: disabledConflict,
  full: () =>
    new Problem("rate_limited", "Too many polls wait at once. Poll again later, or without `wait`.", {
      headers: { "retry-after": String(limit("pollWaitSecondsMax")) },
    }),
  stopping: () => unavailable("The service is stopping. Try again in a moment."),
};

/** A position in the queue of one endpoint, as its poller carries it. */
function writeCursor({ ids }: Needs<"ids">, endpointId: number, position: number): string {
  return Buffer.from(`${ids.encode("ep", endpointId)}.${ids.encode("pos", position)}`).toString("base64url");
}

/** Throws 422 with the parameter's name for a text that `writeCursor` never wrote for this endpoint. */
function readCursor(services: Needs<"ids">, endpointId: number, cursor: string): number {
  const [, position = ""] = Buffer.from(cursor, "base64url").toString().split(".");
  const key = services.ids.decode("pos", position);
  if (key !== null && writeCursor(services, endpointId, key) === cursor) return key;
  throw invalid("cursor", "Expected the `next_cursor` of a page of this endpoint.");
}
