/**
 * Roles are assumed through STS: once for all who wait, again before the end, and what goes wrong is told and
 * tried again.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { AttemptAnswer } from "../../../src/http/deliveries/attempt-shape.ts";
import { credentialsOf } from "../../../src/destinations/aws/session.ts";
import {
  type Answer,
  type Ask,
  type OutgoingRequest,
  Unprepared,
} from "../../../src/destinations/destination.ts";
import { type EndpointBench, startBench } from "../../http/endpoints/kit.ts";
import { answerOf, messageAt, textOf, meaningOf } from "../kinds/case.ts";

const NOW = Date.UTC(2026, 10, 21, 12);
const MINUTE_MS = 60_000;
const ROLE_ARN = "arn:aws:iam::123456789012:role/sender";
const KEYS = { region: "eu-central-1", access_key_id: "AKIAOWN", secret_access_key: "own-secret" };

function granted(name: string, expiresAt: number): Answer {
  const body =
    `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIA${name}</AccessKeyId>` +
    `<SecretAccessKey>secret-${name}</SecretAccessKey><SessionToken>token-${name}</SessionToken>` +
    `<Expiration>${new Date(expiresAt).toISOString()}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`;
  return answerOf({ status: 200, body });
}

/** An STS that answers in turn, and what it was asked. */
function stsOf(...answers: (Answer | Error)[]) {
  const asked: OutgoingRequest[] = [];
  const ask: Ask = (request) => {
    const answer = answers[asked.push(request) - 1];
    return answer === undefined || answer instanceof Error
      ? Promise.reject(answer ?? new Error("asked once more than expected"))
      : Promise.resolve(answer);
  };
  return { asked, ask };
}

/** What goes on in the background needs no more than this. */

const keyOf = async (credentials: ReturnType<typeof credentialsOf>) => (await credentials).accessKeyId;

async function failureOf(answer: Answer): Promise<Unprepared> {
  const { ask } = stsOf(answer);
  try {
    await credentialsOf({ ...KEYS, role_arn: ROLE_ARN }, messageAt(NOW), NOW, ask);
  } catch (error) {
    if (error instanceof Unprepared) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

test("without a role the configured credentials sign, and nobody is asked", async () => {
  const { ask, asked } = stsOf();
  expect(await credentialsOf(KEYS, messageAt(NOW), NOW, ask)).toEqual({
    accessKeyId: "AKIAOWN",
    secretAccessKey: "own-secret",
  });
  const config = { ...KEYS, session_token: "own-token" };
  expect(await credentialsOf(config, messageAt(NOW), NOW, ask)).toMatchObject({ sessionToken: "own-token" });
  expect(await credentialsOf(config, messageAt(NOW), NOW, ask)).not.toHaveProperty("granted");
  expect(asked).toEqual([]);
});

test("however many deliveries wait, the role is assumed once", async () => {
  const { ask, asked } = stsOf(granted("ONE", NOW + 60 * MINUTE_MS));
  const config = { ...KEYS, role_arn: ROLE_ARN, external_id: "customer:42" };
  const all = Array.from({ length: 50 }, () => keyOf(credentialsOf(config, messageAt(NOW), NOW, ask)));
  expect(new Set(await Promise.all(all))).toEqual(new Set(["ASIAONE"]));
  expect(await keyOf(credentialsOf(config, messageAt(NOW), NOW + 54 * MINUTE_MS, ask))).toBe("ASIAONE");
  expect(asked.length).toBe(1);
  const [request] = asked;
  expect(Object.fromEntries(new URLSearchParams(request && textOf(request)))).toEqual({
    Action: "AssumeRole",
    Version: "2011-06-15",
    RoleArn: ROLE_ARN,
    RoleSessionName: "sealpost-ep_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
    ExternalId: "customer:42",
  });
  const { granted: secrets } = await credentialsOf(config, messageAt(NOW), NOW, ask);
  expect(secrets).toEqual(["ASIAONE", "secret-ONE", "token-ONE"]);
});

test("some minutes before the end the old ones serve while new ones are asked for; each version of an endpoint has its own", async () => {
  const config = { ...KEYS, role_arn: ROLE_ARN };
  const { ask, asked } = stsOf(granted("ONE", NOW + 60 * MINUTE_MS), granted("TWO", NOW + 120 * MINUTE_MS));
  const at = (minutes: number) =>
    keyOf(credentialsOf(config, messageAt(NOW), NOW + minutes * MINUTE_MS, ask));
  expect(await at(0)).toBe("ASIAONE");
  expect(await at(56)).toBe("ASIAONE");
  await nextTurn();
  expect(await at(56)).toBe("ASIATWO");
  expect(asked.length).toBe(2);
  const other = stsOf(granted("OTHER", NOW + 60 * MINUTE_MS));
  expect(await keyOf(credentialsOf({ ...config }, messageAt(NOW), NOW, other.ask))).toBe("ASIAOTHER");
});

test("where no new ones come the old ones serve to their end, and are then missed", async () => {
  const config = { ...KEYS, role_arn: ROLE_ARN };
  const down = new Unprepared({ kind: "unreachable", code: "connection_refused" });
  const { ask, asked } = stsOf(
    granted("ONE", NOW + 60 * MINUTE_MS),
    down,
    down,
    granted("TWO", NOW + 90 * MINUTE_MS),
  );
  const at = (minutes: number) =>
    keyOf(credentialsOf(config, messageAt(NOW), NOW + minutes * MINUTE_MS, ask));
  expect(await at(0)).toBe("ASIAONE");
  expect(await at(58)).toBe("ASIAONE");
  await nextTurn();
  const missed = await at(59.9).catch((error: unknown) => error);
  expect(missed).toBe(down);
  expect(await at(60)).toBe("ASIATWO");
  expect(asked.length).toBe(4);
});

test.each([
  ["AWS itself", {}, "https://sts.eu-central-1.amazonaws.com/"],
  ["China", { region: "cn-north-1" }, "https://sts.cn-north-1.amazonaws.com.cn/"],
  [
    "a VPC endpoint",
    { endpoint: "https://vpce-1.sqs.eu-central-1.vpce.amazonaws.com/" },
    "https://sts.eu-central-1.amazonaws.com/",
  ],
  ["a compatible server", { endpoint: "http://127.0.0.1:5000/" }, "http://127.0.0.1:5000/"],
  [
    "an STS of its own",
    { endpoint: "http://127.0.0.1:5000/", sts_endpoint: "http://127.0.0.1:6000/sts" },
    "http://127.0.0.1:6000/sts",
  ],
  ["a query that was stored", { endpoint: "http://127.0.0.1:5000/a?0&1#2" }, "http://127.0.0.1:5000/a"],
  ["one of STS", { sts_endpoint: "http://127.0.0.1:6000/sts?0&1" }, "http://127.0.0.1:6000/sts"],
])("with %s the role is assumed there", async (_name, more, url) => {
  const { ask, asked } = stsOf(granted("ONE", NOW + 60 * MINUTE_MS));
  await credentialsOf({ ...KEYS, role_arn: ROLE_ARN, ...more }, messageAt(NOW), NOW, ask);
  expect(asked.map((request) => request.url.href)).toEqual([url]);
});

describe("what STS answers", () => {
  const xml = (code: string, message = "") =>
    `<ErrorResponse><Error><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`;

  test.each([
    [
      "the role may not be assumed",
      403,
      xml("AccessDenied", "is not authorized"),
      `sts:AssumeRole on ${ROLE_ARN}`,
      false,
    ],
    ["an unknown key", 403, xml("InvalidClientTokenId"), "InvalidClientTokenId", false],
    ["too many requests", 400, xml("Throttling"), "Throttling", true],
    ["nothing to read", 500, "", "status 500", false],
    [
      "a success without credentials",
      200,
      "<AssumeRoleResponse/>",
      "The answer holds no credentials that can be used.",
      false,
    ],
    [
      "a success without an end",
      200,
      "<AccessKeyId>a</AccessKeyId><SecretAccessKey>b</SecretAccessKey><SessionToken>c</SessionToken>",
      "The answer holds no credentials that can be used.",
      false,
    ],
  ])("%s", async (_name, status, body, detail, throttled) => {
    const failure = await failureOf(answerOf({ status, body }));
    expect(failure).toMatchObject({
      error: { code: "role_refused", detail },
      throttled,
      result: { kind: "response", status },
    });
  });
});

describe("a delivery whose role cannot be assumed", () => {
  let bench: EndpointBench;

  beforeAll(async () => {
    bench = await startBench();
  });

  afterAll(() => bench[Symbol.asyncDispose]());

  test("is tried again, says what STS said, and keeps nothing of what was granted", async () => {
    const sts = bench.receiver.at("sts", (_request, nth) => {
      if (nth === 1) return new Response("<Error><Code>AccessDenied</Code></Error>", { status: 403 });
      const { body } =
        nth === 2
          ? { body: "<SessionToken>half-of-it</SessionToken>" }
          : granted("ROLE", Date.now() + 60 * MINUTE_MS);
      return new Response(body);
    });
    // Repeats what it was sent, as S3 does with a signature that is wrong.
    const sqs = bench.receiver.at("sqs", ({ headers }, nth) =>
      nth === 1
        ? Response.json(
            { __type: "SignatureDoesNotMatch", message: headers["x-amz-security-token"] },
            { status: 403 },
          )
        : Response.json({ MessageId: "m1" }),
    );
    const { id } = await bench.create({
      kind: "aws_sqs",
      config: {
        ...KEYS,
        role_arn: ROLE_ARN,
        queue_url: "http://127.0.0.1/1/orders",
        endpoint: sqs,
        sts_endpoint: sts,
      },
      event_types: ["role.test"],
      retry: { schedule: [1, 1, 1, 1] },
    });
    const event = await bench.publish("role.test");
    const attempts = await bench.app.until(async () => {
      const { json } = await bench.app.live.get(`/v1/events/${event}`);
      const [delivery] = json["deliveries"] as { id: string; status: string }[];
      if (delivery?.status !== "delivered") return false;
      const list = await bench.app.live.get(`/v1/deliveries/${delivery.id}/attempts`);
      return (list.json["data"] as AttemptAnswer[]).toReversed();
    }, 20_000);
    expect(attempts.map((attempt) => [attempt.outcome, attempt.status_code, meaningOf(attempt)])).toEqual([
      ["rejected", 403, `role_refused: sts:AssumeRole on ${ROLE_ARN}`],
      ["rejected", 200, "role_refused: The answer holds no credentials that can be used."],
      ["rejected", 403, "refused: SignatureDoesNotMatch"],
      ["delivered", 200, null],
    ]);
    // Once for each attempt: the third one's credentials were refused.
    expect(bench.receiver.requests("sts").length).toBe(4);
    const [refused, unreadable, echoed] = attempts;
    expect(refused).toMatchObject({
      request_headers: {},
      request_body: null,
      response_body: "<Error><Code>AccessDenied</Code></Error>",
    });
    expect(unreadable?.response_body).toBe("");
    expect(echoed?.response_body).toContain('"message":"***"');
    const shown = JSON.stringify([attempts, bench.app.log(), await bench.read(id)]);
    for (const secret of ["own-secret", "AKIAOWN", "secret-ROLE", "token-ROLE", "half-of-it"])
      expect(shown).not.toContain(secret);
  });
});
