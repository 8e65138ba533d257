/**
 * What every kind must do with its real server: deliveries arrive whole and verify, refusals say what is
 * missing, and nothing is lost while the server refuses or is down.
 */
import { meaningOf } from "./case.ts";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { startApp, type TestApp } from "../../kit/app.ts";
import { stopRealServers } from "../../kit/real-server.ts";
import type { Config } from "./case.ts";

/** A message as a consumer reads it. */
export interface Arrived {
  body: string;
  /** Null where headers cannot travel. */
  headers: Record<string, string> | null;
}

export interface Refusal {
  name: string;
  /** Over the right config, or the event's type, which is the routing key of some. */
  config: Config;
  statusCode: number;
  means: string | null;
}

export interface LiveKind {
  kind: string;
  config: Config;
  /** The next message that arrived and nobody has read yet; waits for it. */
  read(): Promise<Arrived>;
  refusals: readonly Refusal[];
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Something behind the server that fails while the server itself still answers. */
  outage?: Outage;
}

export interface Outage {
  name: string;
  begin(): Promise<void>;
  end(): Promise<void>;
  statusCode: number;
  means: string;
}

interface Made {
  id: string;
  secret: string;
  type: string;
}

interface Attempt {
  outcome: string;
  status_code: number | null;
  error_code: string | null;
  error_detail: string | null;
}

interface Delivery {
  id: string;
  status: string;
  attempt_count: number;
}

/**
 * What encoders trip over: signs of forms, JSON, XML and headers, several bytes a character, numbers that
 * lose digits.
 */
const DATA =
  '{"text":"a&b=c+d%20 <é> \\"q\\" \\\\ \\u0000 €  😀","big":12345678901234567890,"exact":1.0,"list":[1,null,{"x":[]}]}';
/** As many as an endpoint sends at once, several times. */
const MANY = 40;

/** Its tests; `prepare` gives the server, started. */
export function testLive(
  name: string,
  prepare: () => Promise<LiveKind>,
  isSkipped = false,
  hasOutage = false,
): void {
  describe.skipIf(isSkipped)(name, () => {
    let app: TestApp;
    let live: LiveKind;
    let isPrepared = false;
    let types = 0;

    beforeAll(async () => {
      live = await prepare();
      app = await startApp();
      isPrepared = true;
    }, 300_000);

    afterAll(async () => {
      if (isPrepared) {
        await app[Symbol.asyncDispose]();
        await live.stop();
      }
      await stopRealServers();
    }, 60_000);

    async function create(over: Config = {}): Promise<Made> {
      const type = `made.k${++types}`;
      const config = { ...live.config, ...over };
      // Only tries by hand: a server takes as long to start as the ordinary schedule waits.
      const retry = { schedule: [3600] };
      const fields = { kind: live.kind, config, event_types: [type], retry };
      const made = await app.live.create("/v1/endpoints", fields);
      return { id: String(made["id"]), secret: String(made["secret"]), type };
    }

    async function publish({ type }: Made, data = DATA): Promise<string> {
      const body = `{"type":"${type}","timestamp":"2026-11-21T09:00:00.000Z","data":${data}}`;
      const headers = { "content-type": "application/json" };
      const reply = await app.live.send("POST", "/v1/events", { body, headers });
      expect(reply.status).toBe(202);
      return body;
    }

    async function tried({ id }: Made, count = 1): Promise<{ delivery: Delivery; attempt: Attempt }> {
      const delivery = await app.until(async () => {
        const { json } = await app.live.get(`/v1/deliveries?endpoint_id=${id}`);
        const [first] = json["data"] as Delivery[];
        return first !== undefined && first.attempt_count >= count && first;
      }, 20_000);
      const { json } = await app.live.get(`/v1/deliveries/${delivery.id}/attempts`);
      const [attempt] = json["data"] as Attempt[];
      if (attempt === undefined) throw new Error("there is no attempt");
      return { delivery, attempt };
    }

    async function retry({ id }: Delivery): Promise<void> {
      expect((await app.live.post(`/v1/deliveries/${id}/retry`)).status).toBe(202);
    }

    /** The message is this very text, signed by the endpoint. */
    function expectMessage({ body, headers }: Arrived, sent: string, { secret }: Made): void {
      expect(body).toBe(sent);
      if (headers !== null) new Webhook(secret).verify(body, headers);
    }

    /** One more try, by hand: nothing was lost. */
    async function expectArrival(made: Made, sent: string): Promise<void> {
      const { delivery } = await tried(made);
      expect(delivery.status).toBe("retrying");
      await retry(delivery);
      await app.until(async () => {
        return (await app.live.get(`/v1/deliveries/${delivery.id}`)).json["status"] === "delivered";
      });
      expectMessage(await live.read(), sent, made);
    }

    test("a delivery arrives byte for byte, and verifies", async () => {
      const made = await create();
      const sent = await publish(made);
      expectMessage(await live.read(), sent, made);
      const { delivery, attempt } = await tried(made);
      expect([meaningOf(attempt), attempt.outcome, delivery.status]).toEqual([
        null,
        "delivered",
        "delivered",
      ]);
    });

    test("a repeat carries the same webhook-id", async () => {
      const made = await create();
      const sent = await publish(made);
      const first = await live.read();
      const { delivery } = await tried(made);
      await retry(delivery);
      await tried(made, 2);
      const second = await live.read();
      expectMessage(second, sent, made);
      expect(second.headers?.["webhook-id"]).toBe(first.headers === null ? undefined : delivery.id);
    });

    test(`${MANY} at once all arrive, each once`, async () => {
      const made = await create();
      const all = Array.from({ length: MANY }, (_, n) => publish(made, `{"n":${n}}`));
      const sent = await Promise.all(all);
      const arrived: string[] = [];
      while (arrived.length < MANY) {
        const message = await live.read();
        if (message.headers !== null) new Webhook(made.secret).verify(message.body, message.headers);
        arrived.push(message.body);
      }
      expect(arrived.toSorted()).toEqual(sent.toSorted());
    }, 60_000);

    test("what the server refuses says why, shows no credential, and arrives once that is put right", async () => {
      for (const { name: what, config, statusCode, means } of live.refusals) {
        const made = await create(config);
        const sent = await publish(made);
        const { delivery, attempt } = await tried(made);
        expect([what, attempt.outcome, attempt.status_code, meaningOf(attempt)]).toEqual([
          what,
          "rejected",
          statusCode,
          means,
        ]);
        const shown = (await app.live.get(`/v1/deliveries/${delivery.id}/attempts`)).text + app.log();
        for (const secret of secretsOf({ ...live.config, ...config })) expect(shown).not.toContain(secret);
        const patched = await app.live.patch(`/v1/endpoints/${made.id}`, { config: live.config });
        expect([what, patched.status]).toEqual([what, 200]);
        await expectArrival(made, sent);
      }
    }, 60_000);

    test("a destination that is tried first is made where it works, and refused with the reason where not", async () => {
      const type = `made.k${++types}`;
      const trial = (over: Config) =>
        app.live.post("/v1/endpoints?verify=true", {
          kind: live.kind,
          config: { ...live.config, ...over },
          event_types: [type],
        });
      expect((await trial({})).status).toBe(201);
      expect(JSON.parse((await live.read()).body)).toMatchObject({ type: "test.event" });
      const [refusal] = live.refusals;
      const refused = await trial(refusal?.config ?? {});
      expect([refused.status, refused.json.errors?.[0]?.pointer]).toEqual([422, "/config"]);
      if (refusal?.means) expect(refused.json.detail).toContain(refusal.means);
    });

    const testOutage: typeof test | (() => void) = hasOutage ? test : () => {};
    testOutage(
      "a server loses nothing either while what stands behind it is down",
      async () => {
        const { outage } = live;
        if (outage === undefined) throw new Error("no outage is told of");
        const made = await create();
        await outage.begin();
        const sent = await publish(made);
        const { attempt } = await tried(made);
        expect([outage.name, attempt.outcome, attempt.status_code, meaningOf(attempt)]).toEqual([
          outage.name,
          "rejected",
          outage.statusCode,
          outage.means,
        ]);
        await outage.end();
        await expectArrival(made, sent);
      },
      120_000,
    );

    test("a server that is down loses nothing", async () => {
      const made = await create();
      await live.stop();
      const sent = await publish(made);
      const { attempt } = await tried(made);
      expect([attempt.outcome, meaningOf(attempt)]).toEqual(["unreachable", "connection_refused"]);
      await live.start();
      await expectArrival(made, sent);
    }, 120_000);
  });
}

/** Values of fields whose names say that they are secret. */
function secretsOf(config: Config): string[] {
  const secret = Object.entries(config).filter(([name]) =>
    /password|token|secret|connection_string|_json$/.test(name),
  );
  return secret.map(([, value]) => String(value));
}
