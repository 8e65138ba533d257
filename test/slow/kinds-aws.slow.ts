// time budget: 900 s
/**
 * The AWS kinds against servers that play AWS, read back with the official SDK: what arrives, and what
 * becomes of a delivery when the server is down, slow, throttles, lacks the destination, or refuses the
 * credentials. Installing moto and building versitygw takes most of the time on a machine that has
 * neither yet.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { startApp, type TestApp } from "../kit/app.ts";
import { AwsBench, configOf } from "../kit/aws-bench.ts";
import { type PlayedAws, startMoto, startVersitygw, VERSITYGW_KEYS } from "../kit/aws-servers.ts";
import { type AwsTarget, type Keys, s3Target, targetsOf } from "../kit/aws-targets.ts";
import { CALLS_OF_A_USER, makeRole, makeUser } from "../kit/aws-users.ts";
import { Front } from "../kit/front.ts";
import { requireTool } from "../kit/tools.ts";
import { readGuide } from "../readme/blocks.ts";

const KINDS = ["aws_sqs", "aws_sns", "aws_eventbridge", "aws_kinesis", "s3"];
const REGION = "us-east-1";
const ANY_KEYS: Keys = { accessKeyId: "AKIAANYBODY", secretAccessKey: "any-secret-will-do-here" };
const ROLE_ARN = "arn:aws:iam::123456789012:role/sealpost";

/** moto needs it, and Go's toolchain where the machine has none. */
const suite = requireTool("python3", "apt-get install python3 python3-venv") ? describe : describe.skip;

let app: TestApp;
let bench: AwsBench;
let moto: PlayedAws;
/** With its signature check switched on. */
let strict: PlayedAws;
let versity: PlayedAws;
let targets: Record<string, AwsTarget>;
let strictTargets: Record<string, AwsTarget>;
const users = { admin: ANY_KEYS, sender: ANY_KEYS };
const fronts: Front[] = [];

beforeAll(async () => {
  if (suite !== describe) return;
  app = await startApp();
  bench = new AwsBench(app);
  moto = await startMoto();
  strict = await startMoto(CALLS_OF_A_USER);
  versity = await startVersitygw();
  targets = targetsOf(moto.url, ANY_KEYS);
  users.admin = await makeUser(strict.url, ANY_KEYS, "admin", "*");
  strictTargets = targetsOf(strict.url, users.admin);
  // May do nothing but assume the role, which may do all.
  users.sender = await makeUser(strict.url, users.admin, "sender", "sts:AssumeRole");
  await makeRole(strict.url, users.admin, "sealpost");
}, 800_000);

afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  for (const server of [...fronts, moto, strict, versity]) await server?.[Symbol.asyncDispose]();
});

function targetOf(kind: string, among = targets): AwsTarget {
  const target = among[kind];
  if (target === undefined) throw new Error(`there is no target of the kind ${kind}`);
  return target;
}

suite.each(KINDS)("%s", (kind) => {
  const start = async () => {
    const front = await Front.start(moto.url);
    fronts.push(front);
    const target = targetOf(kind);
    const name = bench.freshName();
    await target.make(name);
    return { front, target, name, config: configOf(ANY_KEYS, target.config(front.url, name)) };
  };

  test("what is published is what the SDK reads", async () => {
    const { target, name, config } = await start();
    const made = await bench.create(kind, config);
    const id = await bench.publish(made);
    const [attempt] = await bench.delivered(id);
    expect(attempt).toMatchObject({ outcome: "delivered", status_code: 200, error_code: null });
    expect(attempt?.request_headers["authorization"]).toBe("***");
    expect(attempt?.request_headers["x-amz-date"]).toMatch(/^\d{8}T\d{6}Z$/);
    // The bytes as sent: Kinesis has the body in base64.
    expect(attempt?.request_body).toContain(kind === "aws_kinesis" ? '"Data":"eyJ0' : "in_42");
    const more = await bench.expectArrived(target, name, made, id);
    if (kind === "s3") {
      const { created_at: at } = await bench.delivery(id);
      expect(more).toEqual({
        Key: `${at.slice(0, 10)}/${at.slice(11, 13)}/${id}.json`,
        ContentType: "application/json",
      });
    }
    if (kind === "aws_kinesis") expect(more).toEqual({ PartitionKey: id });
    if (kind === "aws_eventbridge")
      expect(more).toMatchObject({ source: "sealpost", "detail-type": made.type });
  });

  test("a destination that is not there refuses, and gets the message once it is", async () => {
    const target = targetOf(kind);
    const name = bench.freshName();
    const made = await bench.create(kind, configOf(ANY_KEYS, target.config(moto.url, name)));
    const id = await bench.publish(made);
    const [refused] = await bench.attempted(id);
    expect(refused).toMatchObject({
      outcome: "rejected",
      error_code: "refused",
      error_detail: target.missingCode,
    });
    expect(refused?.next_attempt_at).not.toBeNull();
    await target.make(name);
    await bench.delivered(id);
    await bench.expectArrived(target, name, made, id);
  });

  test("a server that is down loses nothing", async () => {
    const { front, target, name, config } = await start();
    await front.close();
    const made = await bench.create(kind, config);
    const id = await bench.publish(made);
    const [failed] = await bench.attempted(id);
    expect(failed).toMatchObject({
      outcome: "unreachable",
      error_code: "connection_refused",
      status_code: null,
    });
    front.open();
    await bench.delivered(id);
    await bench.expectArrived(target, name, made, id);
  });

  test("throttling inside a 400 slows the endpoint down, and costs no message", async () => {
    const { front, target, name, config } = await start();
    const made = await bench.create(kind, config, { max_concurrency: 1 });
    const code = kind === "s3" ? "SlowDown" : "ThrottlingException";
    const body =
      kind === "s3"
        ? `<Error><Code>${code}</Code></Error>`
        : JSON.stringify({ __type: `com.amazon#${code}` });
    front.next(() => new Response(body, { status: 400, headers: { "retry-after": "2" } }));
    const first = await bench.publish(made);
    const [throttled] = await bench.attempted(first);
    expect(throttled).toMatchObject({
      outcome: "rejected",
      status_code: 400,
      error_code: "refused",
      error_detail: code,
    });
    // Later than the schedule says: as late as it was asked for.
    const askedFor = Date.parse(throttled?.started_at ?? "") + 2000;
    expect(Date.parse(throttled?.next_attempt_at ?? "")).toBeGreaterThanOrEqual(askedFor);
    const second = await bench.publish(made);
    expect(await bench.delivery(second)).toMatchObject({
      status: "pending",
      attempt_count: 0,
      waiting_for: "backoff",
    });
    await bench.delivered(first);
    expect((await bench.delivered(second)).length).toBe(1);
    expect((await target.read(name)).length).toBe(2);
  });

  test("a server that is slow times out, and is asked again", async () => {
    const { front, target, name, config } = await start();
    front.next(() => new Promise(() => {}));
    const made = await bench.create(kind, config, { timeout_seconds: 1 });
    const id = await bench.publish(made);
    const [slow] = await bench.attempted(id);
    expect(slow).toMatchObject({ outcome: "timeout", error_code: "timeout_response" });
    await bench.delivered(id);
    await bench.expectArrived(target, name, made, id);
  });

  test("a success that cannot be read is none, where the status does not say all", async () => {
    if (kind === "s3") return;
    const { front, target, name, config } = await start();
    front.next(() => new Response("<html>Welcome to nginx!</html>"));
    const made = await bench.create(kind, config);
    const id = await bench.publish(made);
    const attempts = await bench.delivered(id);
    expect(attempts[0]).toMatchObject({
      outcome: "rejected",
      status_code: 200,
      error_code: "unexpected_answer",
    });
    await bench.expectArrived(target, name, made, id);
  });

  describe("where signatures and policies are checked", () => {
    const make = async () => {
      const target = targetOf(kind, strictTargets);
      const name = bench.freshName();
      await target.make(name);
      return { target, name, named: target.config(strict.url, name) };
    };

    test("a wrong secret is refused; the right one, given later, delivers", async () => {
      const { target, name, named } = await make();
      const wrong = { ...users.admin, secretAccessKey: "not-the-secret-of-this-key" };
      const made = await bench.create(kind, configOf(wrong, named));
      const id = await bench.publish(made);
      const [refused] = await bench.attempted(id);
      expect(refused).toMatchObject({ outcome: "rejected", status_code: 403 });
      expect(refused?.error_detail).toMatch(/Signature/);
      expect(await target.read(name)).toEqual([]);
      await app.live.patch(`/v1/endpoints/${made.id}`, { config: configOf(users.admin, named) });
      await bench.delivered(id);
      await bench.expectArrived(target, name, made, id);
    });

    test("an attempt says which permission is missing, and no credential", async () => {
      const { target, named } = await make();
      const made = await bench.create(kind, configOf(users.sender, named));
      const id = await bench.publish(made);
      const [refused] = await bench.attempted(id);
      expect(refused).toMatchObject({ outcome: "rejected", status_code: 403 });
      expect(refused?.error_code).toBe("permission_missing");
      expect(refused?.error_detail).toStartWith(`${target.action} on `);
      const shown = JSON.stringify([refused, app.log()]);
      expect(shown).not.toContain(users.sender.secretAccessKey);
      expect(shown).not.toContain(users.sender.accessKeyId);
      await bench.cancel(id);
    });

    test("the role that it assumes may send; its session is not shown either", async () => {
      const { target, name, named } = await make();
      const config = configOf(users.sender, { ...named, role_arn: ROLE_ARN, endpoint: strict.url });
      const made = await bench.create(kind, config);
      const id = await bench.publish(made);
      const [attempt] = await bench.delivered(id);
      expect(attempt?.request_headers["x-amz-security-token"]).toBe("***");
      await bench.expectArrived(target, name, made, id);
    });
  });
});

suite("repeats", () => {
  test.each(["aws_sqs", "aws_sns"])(
    "%s, FIFO: a replay within five minutes is no second message",
    async (kind) => {
      const target = targetOf(kind);
      const name = bench.freshName(".fifo");
      await target.make(name);
      const made = await bench.create(kind, configOf(ANY_KEYS, target.config(moto.url, name)));
      const id = await bench.publish(made);
      await bench.delivered(id);
      const attempts = await bench.replay(id);
      expect(attempts.map(({ outcome }) => outcome)).toEqual(["delivered", "delivered"]);
      const more = await bench.expectArrived(target, name, made, id);
      expect(more).toMatchObject({ MessageGroupId: made.id, MessageDeduplicationId: id });
    },
  );

  test("s3: a replay overwrites the object", async () => {
    const target = targetOf("s3");
    const name = bench.freshName();
    await target.make(name);
    const made = await bench.create("s3", configOf(ANY_KEYS, target.config(moto.url, name)));
    const id = await bench.publish(made);
    await bench.delivered(id);
    await bench.replay(id);
    await bench.expectArrived(target, name, made, id);
  });

  test("a group of one's own keeps the order of a FIFO queue", async () => {
    const target = targetOf("aws_sqs");
    const name = bench.freshName(".fifo");
    await target.make(name);
    const named = { ...target.config(moto.url, name), group_id: "all" };
    const made = await bench.create("aws_sqs", configOf(ANY_KEYS, named), { ordering: "fifo" });
    const ids: string[] = [];
    for (let at = 0; at < 5; at++) ids.push(await bench.publish(made));
    for (const id of ids) await bench.delivered(id);
    const arrived = await target.read(name);
    expect(arrived.map(({ headers }) => headers?.["webhook-id"])).toEqual(ids);
    expect(arrived.map(({ more }) => more["MessageGroupId"])).toEqual(ids.map(() => "all"));
  });
});

suite("a compatible store: versitygw, which verifies every signature", () => {
  const make = async (config: Record<string, string> = {}, keys: Keys = VERSITYGW_KEYS) => {
    const target = s3Target(versity.url, VERSITYGW_KEYS);
    const name = bench.freshName();
    await target.make(name);
    const made = await bench.create("s3", configOf(keys, { ...target.config(versity.url, name), ...config }));
    return { target, name, made };
  };

  test("the object is there, under a key that needs every kind of encoding", async () => {
    const { target, name, made } = await make({
      prefix: "web hooks/+ü=&%",
      key_template: "{type}/{endpoint_id}/{date} {hour}h ({id})!'*~.json",
    });
    const id = await bench.publish(made);
    await bench.delivered(id);
    const { Key } = await bench.expectArrived(target, name, made, id);
    expect(Key).toStartWith(`web hooks/+ü=&%/${made.type}/${made.id}/20`);
    expect(Key).toEndWith(`h (${id})!'*~.json`);
  });

  test("a wrong secret is refused, and says so", async () => {
    const { target, name, made } = await make({}, { ...VERSITYGW_KEYS, secretAccessKey: "something-else" });
    const id = await bench.publish(made);
    const [refused] = await bench.attempted(id);
    expect(refused).toMatchObject({
      outcome: "rejected",
      status_code: 403,
      error_code: "refused",
      error_detail: "SignatureDoesNotMatch",
    });
    expect(await target.read(name)).toEqual([]);
    await bench.cancel(id);
  });

  test("a bucket that is not there refuses", async () => {
    const config = configOf(VERSITYGW_KEYS, { bucket: "nobody-made-it", endpoint: versity.url });
    const refusal = await app.live.post("/v1/endpoints?verify=true", { kind: "s3", config });
    expect([refusal.status, refusal.json.errors?.[0]?.pointer]).toEqual([422, "/config"]);
    expect(refusal.json.errors?.[0]?.detail).toContain("NoSuchBucket");
  });
});

const guide = await readGuide();

suite("the endpoints of the pages", () => {
  const commands = guide.map(({ text }) => text);

  /** Made as the README has it, but for the address. */
  const make = async (kind: string, over: Record<string, string>) => {
    const command = commands.find((text) => text.includes(`"kind": "${kind}"`)) ?? "";
    const body = JSON.parse(/^api POST \/v1\/endpoints '(.*)'$/ms.exec(command)?.[1] ?? "null") as {
      config: Record<string, string>;
      event_types: string[];
    };
    const config = { ...body.config, ...over };
    const made = await app.live.create<{ id: string; secret: string }>("/v1/endpoints", { ...body, config });
    return { made: { ...made, type: body.event_types[0] ?? "" }, config };
  };

  test("the queue gets its message", async () => {
    const target = targetOf("aws_sqs");
    await target.make("stock");
    const there = { ...target.config(moto.url, "stock"), region: REGION };
    const { made, config } = await make("aws_sqs", there);
    expect(Object.keys(config)).toEqual(["queue_url", "region", "access_key_id", "secret_access_key"]);
    const id = await bench.publish(made);
    await bench.delivered(id);
    await bench.expectArrived(target, "stock", made, id);
    expect((await app.live.delete(`/v1/endpoints/${made.id}`)).status).toBe(204);
  });

  test("the bucket gets its object, where the README says", async () => {
    const target = targetOf("s3");
    await target.make("events");
    const { made, config } = await make("s3", { endpoint: moto.url });
    expect(config).toMatchObject({ bucket: "events", prefix: "sealpost" });
    const id = await bench.publish(made);
    await bench.delivered(id);
    const { Key } = await bench.expectArrived(target, "events", made, id);
    expect(Key).toMatch(new RegExp(`^sealpost/\\d{4}-\\d\\d-\\d\\d/\\d\\d/${id}\\.json$`));
  });
});

suite("?verify=true", () => {
  test("makes an endpoint where the queue takes the test message, and says why where not", async () => {
    const target = targetOf("aws_sqs");
    const name = bench.freshName();
    const config = configOf(ANY_KEYS, target.config(moto.url, name));
    const create = () => app.live.post("/v1/endpoints?verify=true", { kind: "aws_sqs", config });
    const refusal = await create();
    expect(refusal.status).toBe(422);
    expect(refusal.json.errors?.[0]?.detail).toContain("QueueDoesNotExist");
    await target.make(name);
    const made = await create();
    expect(made.status).toBe(201);
    const arrived = await target.read(name);
    const { body = "", headers } = arrived[0] ?? {};
    expect(new Webhook(String(made.json["secret"])).verify(body, headers ?? {})).toMatchObject({
      type: "test.event",
    });
  });
});
