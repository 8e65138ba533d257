/** Whatever a token server granted and the destination then refuses is asked for anew, whichever the kind. */
import { describe, expect, test } from "bun:test";
import type { Answer, Ask, DestinationConfig } from "../../src/destinations/destination.ts";
import { endNow, lifetimeOf } from "../../src/destinations/grants.ts";
import { jsonError, xmlError } from "./kinds/aws.ts";
import { answerOf, atOnce, type KindCase, messageAt } from "./kinds/case.ts";
import { askOf, CASES, kindOf } from "./kinds/cases.ts";

const GRANTED = CASES.filter(({ asked }) => asked);
const HOUR_MS = 3_600_000;

/** A kind, and how often it asked for credentials. */
class Asking {
  count = 0;
  readonly #config: DestinationConfig;

  constructor(
    private readonly proof: KindCase,
    private readonly ask: Ask = askOf(proof),
  ) {
    this.#config = { ...proof.config };
  }

  async request(now = Date.now()): Promise<void> {
    const ask: Ask = (request) => {
      this.count++;
      return this.ask(request);
    };
    await kindOf(this.proof).request(this.#config, messageAt(now), now, ask, atOnce);
  }

  /** How often it asked after an answer to its first request. */
  async countAfter(answer: Answer): Promise<number> {
    await this.request();
    kindOf(this.proof).judge(answer, this.#config);
    await this.request();
    await this.request();
    return this.count;
  }
}

/** As the services and those that are compatible name it. */
const REFUSING = [
  "ExpiredToken",
  "ExpiredTokenException",
  "RequestExpired",
  "InvalidToken",
  "InvalidTokenId",
  "InvalidClientTokenId",
  "UnrecognizedClientException",
  "TokenRefreshRequired",
  "InvalidAccessKeyId",
  "InvalidSecurity",
  "AuthFailure",
  "SignatureDoesNotMatch",
  "InvalidSignatureException",
  "IncompleteSignature",
  "MissingAuthenticationToken",
];
const OTHERS = [
  "AccessDenied",
  "AccessDeniedException",
  "KMS.AccessDeniedException",
  "ThrottlingException",
  "QueueDoesNotExist",
  "NoSuchBucket",
  "InvalidParameterValue",
  "ExpiredIteratorException",
];

/** By each protocol: JSON, a header, XML of queries and of S3. */
function spelledOf(code: string): Answer[] {
  return [
    answerOf({ status: 400, body: jsonError(code, "The security token is expired") }),
    answerOf({ status: 400, body: jsonError(`com.amazonaws.sqs#${code}`, "") }),
    answerOf({ status: 403, headers: { "x-amzn-errortype": `${code}:http://internal.amazon.com/` } }),
    answerOf({ status: 403, body: xmlError(code, "") }),
    answerOf({ status: 400, body: `<Error><Code>${code}</Code><Message>no</Message></Error>` }),
  ];
}

test("every kind with a role, and every kind with a service account, is walked over", () => {
  const withRole = CASES.filter(({ config }) => "role_arn" in config || "service_account_json" in config);
  expect(withRole.map(({ kind }) => kind)).toEqual(GRANTED.map(({ kind }) => kind));
});

describe.each(GRANTED.map((proof) => [proof.kind, proof] as const))("%s", (_kind, proof) => {
  test("what is refused without a word is asked for once more; what has other faults is not", async () => {
    expect(await new Asking(proof).countAfter(answerOf({ status: 401 }))).toBe(2);
    for (const status of [200, 400, 404, 429, 500, 503])
      expect([status, await new Asking(proof).countAfter(answerOf({ status }))]).toEqual([status, 1]);
  });

  test("what is granted for two minutes serves for most of them, and for a minute and a half nobody asks", async () => {
    const start = Date.now();
    const brief: Ask = async (request) => {
      const answer = await askOf(proof)(request);
      const text = Buffer.from(answer.body).toString();
      const end = new Date(start + 120_000).toISOString();
      const body = text
        .replace(/<Expiration>[^<]*/, `<Expiration>${end}`)
        .replace(/"expires_in": ?[0-9]+/, '"expires_in":120');
      return answerOf({ status: answer.status, body });
    };
    const asking = new Asking(proof, brief);
    for (let second = 0; second < 90; second++) await asking.request(start + second * 1000);
    expect(asking.count).toBe(1);
  });
});

describe.each(
  GRANTED.filter(({ config }) => "role_arn" in config).map((proof) => [proof.kind, proof] as const),
)("the role of %s", (_kind, proof) => {
  test("is assumed anew once its credentials are refused, by whichever code and protocol", async () => {
    for (const code of REFUSING)
      for (const answer of spelledOf(code))
        expect([code, await new Asking(proof).countAfter(answer)]).toEqual([code, 2]);
  });

  test("is not assumed anew where something else is wrong", async () => {
    for (const code of OTHERS)
      for (const answer of spelledOf(code).filter(({ status }) => status === 400))
        expect([code, await new Asking(proof).countAfter(answer)]).toEqual([code, 1]);
  });
});

test("a grant is renewed five minutes before its end, a short one in its last quarter, a refused one at once", () => {
  expect(lifetimeOf(0, HOUR_MS)).toEqual({ renewsAt: HOUR_MS - 300_000, endsAt: HOUR_MS });
  expect(lifetimeOf(0, 120_000)).toEqual({ renewsAt: 90_000, endsAt: 120_000 });
  const refused = lifetimeOf(0, HOUR_MS);
  endNow(refused);
  expect(refused).toEqual({ renewsAt: Number.NEGATIVE_INFINITY, endsAt: Number.NEGATIVE_INFINITY });
});
