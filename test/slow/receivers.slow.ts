// time budget: 600 s
/**
 * The receivers of src/docs/receivers.md: each is set up in a folder of its own by the commands of the page,
 * with the real framework, and gets deliveries of the real service and those of forgers.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Webhook } from "standardwebhooks";
import { Client } from "../kit/app.ts";
import { findGo } from "../kit/go.ts";
import { fetchJars, hasMaven } from "../kit/maven.ts";
import { PYTHON_HINT } from "../kit/python.ts";
import { freePorts, makeFolder, RealServer, runCommand, stopRealServers } from "../kit/real-server.ts";
import { type Service, startService } from "../kit/service.ts";
import { requireTool } from "../kit/tools.ts";
import { lookAgain } from "../kit/until.ts";
import { readPage } from "../readme/blocks.ts";
import { type PageReceiver, readReceivers, type Step } from "../readme/receivers.ts";

/** What is around a receiver. */
interface Surroundings {
  isThere: boolean;
  /** The path of its address; default: `/webhooks`. */
  path?: string;
  /** Commands found before those of the machine. */
  commands?: () => Promise<string>;
  /**
   * Where it is part of a project: makes the rest in this folder, and answers the command that starts it,
   * unless the page has one.
   */
  complete?: (folder: string, steps: readonly Step[]) => Promise<string | null>;
}

const SPRING = "org.springframework.boot:spring-boot-starter-webmvc:4.1.2";
const SPRING_MAIN = `package shop;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

@SpringBootApplication
public class Shop {
    public static void main(String[] args) {
        SpringApplication.run(Shop.class, args);
    }
}
`;
const LARAVEL = "/usr/share/php/Illuminate/Foundation";
const LARAVEL_CONFIG = `<?php
use Illuminate\\Cache\\CacheServiceProvider;
use Illuminate\\Filesystem\\FilesystemServiceProvider;
use Illuminate\\View\\ViewServiceProvider;
return [
    'key' => 'of the test', 'env' => 'production', 'debug' => false, 'timezone' => 'UTC', 'locale' => 'en',
    'providers' => [
        CacheServiceProvider::class, FilesystemServiceProvider::class, ViewServiceProvider::class, Routes::class,
    ],
];
`;
const LARAVEL_LOGGING = `<?php
return ['default' => 'errorlog', 'channels' => ['errorlog' => ['driver' => 'errorlog']]];
`;
const LARAVEL_CACHE = `<?php
return ['default' => 'file', 'stores' => ['file' => ['driver' => 'file', 'path' => base_path('cache')]]];
`;
/** What is in the address by which a receiver is found from outside. */
const HOST = "shop.example";

const APT = "apt-get install --no-install-recommends";
const hasPython = requireTool("python3", PYTHON_HINT);
const hasRails = [requireTool("rails", `${APT} ruby-railties`), requireTool("puma", `${APT} puma`)].every(
  Boolean,
);
const hasLaravel = [
  requireTool("php", `${APT} php-cli`),
  existsSync(LARAVEL) || requireTool(LARAVEL, `${APT} php-laravel-framework`),
].every(Boolean);

const SURROUNDINGS: Record<string, Surroundings> = {
  Express: { isThere: true },
  Fastify: { isThere: true },
  Hono: { isThere: true },
  "Next.js": { isThere: true },
  FastAPI: { isThere: hasPython },
  Django: { isThere: hasPython, complete: completeDjango },
  Go: { isThere: hasPython, commands: async () => dirname(Bun.which(await findGo()) ?? "") },
  Spring: { isThere: hasMaven(), complete: completeSpring },
  Rails: { isThere: hasRails, complete: completeRails },
  Laravel: { isThere: hasLaravel, path: "/api/webhooks", complete: completeLaravel },
};

async function completeDjango(folder: string): Promise<null> {
  const settings = `\nDEBUG = False\nALLOWED_HOSTS = ["127.0.0.1", "${HOST}"]\n`;
  await appendFile(join(folder, "shop/settings.py"), settings);
  return null;
}

async function completeSpring(folder: string, steps: readonly Step[]): Promise<string> {
  const artifacts = steps.flatMap((step) => (step.kind === "dependency" ? [step.artifact] : []));
  const all = [SPRING, ...artifacts];
  const jars = `${await fetchJars(all.join("-").replaceAll(/[^\w.]+/g, "-"), all)}/*`;
  const sources = join(folder, "src/main/java/shop");
  await Bun.write(join(sources, "Shop.java"), SPRING_MAIN);
  const files = [...new Bun.Glob("*.java").scanSync({ cwd: sources, absolute: true })];
  await runCommand(["javac", "-parameters", "-cp", jars, "-d", join(folder, "classes"), ...files]);
  return `exec java -cp "classes:${jars}" shop.Shop --server.port=$PORT`;
}

async function completeRails(folder: string): Promise<string> {
  await Bun.write(join(folder, "config.ru"), Bun.file(join(import.meta.dir, "../kit/rails.ru")));
  return "RAILS_ENV=production exec puma --bind tcp://127.0.0.1:$PORT";
}

async function completeLaravel(folder: string): Promise<string> {
  await Bun.write(join(folder, "index.php"), Bun.file(join(import.meta.dir, "../kit/laravel.php")));
  await Bun.write(join(folder, "config/app.php"), LARAVEL_CONFIG);
  await Bun.write(join(folder, "config/cache.php"), LARAVEL_CACHE);
  await Bun.write(join(folder, "config/logging.php"), LARAVEL_LOGGING);
  await Bun.write(join(folder, "config/view.php"), "<?php return ['paths' => []];");
  await Bun.write(join(folder, "bootstrap/cache/.keep"), "");
  return "exec php -S 127.0.0.1:$PORT index.php";
}

/** Drops what it has already, says the page. */
const DROPS_DUPLICATES = "FastAPI";

const PREPARE_MS = 270_000;
const receivers = readReceivers(await readPage("src/docs/receivers.md"));
const place = makeFolder("receivers");

let service: Service;
let client: Client;
const running = new Map<string, Promise<Running>>();

beforeAll(async () => {
  service = await startService();
  client = new Client(service, service.keys.test);
  for (const receiver of receivers) {
    const { isThere, ...around } = surroundingsOf(receiver);
    if (!isThere) continue;
    const started = start(receiver, around);
    // Whoever asks for it is told.
    started.catch(() => {});
    running.set(receiver.name, started);
  }
}, PREPARE_MS);

afterAll(async () => {
  await Promise.allSettled(running.values());
  await stopRealServers();
  await service.close();
  place.remove();
}, PREPARE_MS);

function surroundingsOf({ name }: PageReceiver): Surroundings {
  const around = SURROUNDINGS[name];
  if (around === undefined) throw new Error(`no test runs ${name}`);
  return around;
}

interface Running {
  name: string;
  url: string;
  server: RealServer;
  webhook: Webhook;
  /** What starts it, once it is built, in which environment. */
  command: string[];
  env: Record<string, string>;
}

const typeOf = (name: string, word: string) => `${name.toLowerCase().replace(/\W/g, "")}.${word}`;

async function start(receiver: PageReceiver, around: Omit<Surroundings, "isThere">): Promise<Running> {
  const { name, steps } = receiver;
  const folder = join(place.path, typeOf(name, "shop"));
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}${around.path ?? "/webhooks"}`;
  const secret = await createEndpoint(url, typeOf(name, "genuine"));
  // Another endpoint's secret signs what is sent to the same address.
  await createEndpoint(url, typeOf(name, "forged"));
  const env = {
    PATH: [await around.commands?.(), process.env["PATH"]].filter(Boolean).join(":"),
    PORT: String(port),
    WEBHOOK_SECRET: secret,
    NEXT_TELEMETRY_DISABLED: "1",
    npm_config_prefer_offline: "true",
  };
  const typed = await carryOut(steps, folder, env);
  const completed = await around.complete?.(folder, steps);
  const line = typed ?? completed;
  if (!line) throw new Error(`the page does not say how ${name} is started`);
  const inFolder = (words: string) => ["bash", "-ec", `cd "${folder}"\n${words}`];
  const server = new RealServer({
    name,
    command: inFolder(line),
    env,
    isReady: async () => (await send(url, {}, "{}")) < 500,
    deadlineMs: PREPARE_MS,
  });
  await server.start();
  return {
    name,
    url,
    server,
    webhook: new Webhook(secret),
    command: inFolder(line.trim().split("\n").at(-1) ?? ""),
    env,
  };
}

/**
 * How it answers a delivery that the key of this secret signs, started with it; "not started" where it ends,
 * or says what is wrong and does not listen. `undefined`: not set.
 */
async function answerWith(secret: string | undefined, { name, url, command, env }: Running) {
  const [port = 0] = await freePorts(1);
  const address = Object.assign(new URL(url), { port: String(port) }).href;
  const { WEBHOOK_SECRET: _, ...others } = env;
  const key = Buffer.from((secret ?? "").replace("whsec_", ""), "base64");
  const headers = sign({ sign: (...said) => signBy(key, ...said) }, FORGED, BODY);
  let answer: number | "not started" = "not started";
  await using server = new RealServer({
    name,
    command,
    env: { ...others, PORT: String(port), ...(secret !== undefined && { WEBHOOK_SECRET: secret }) },
    isReady: async (output) => {
      try {
        answer = await send(address, headers, BODY);
      } catch {
        return output.includes("WEBHOOK_SECRET");
      }
      return true;
    },
    deadlineMs: 60_000,
  });
  await server.start().catch((error: Error) => {
    if (!error.message.includes("WEBHOOK_SECRET")) throw error;
  });
  return answer;
}

function signBy(key: Uint8Array, id: string, at: Date, body: string | Buffer): string {
  const hmac = createHmac("sha256", key).update(`${id}.${Math.floor(at.getTime() / 1000)}.`);
  return `v1,${hmac.update(body).digest("base64")}`;
}

/** Writes and types what the page has, in its order, but for the command that starts it: that is answered. */
async function carryOut(
  steps: readonly Step[],
  folder: string,
  env: Record<string, string>,
): Promise<string | null> {
  mkdirSync(folder);
  let last: string | null = null;
  for (const step of steps) {
    if (step.kind === "file") await Bun.write(join(folder, step.path), step.text);
    if (step.kind === "set-up") await runCommand(["bash", "-ec", step.command], env, folder);
    if (step.kind === "start") last = step.command;
  }
  return last;
}

/** The secret of a new endpoint for one type of events, whose first attempt is the last. */
async function createEndpoint(url: string, type: string): Promise<string> {
  const asked = { url, event_types: [type], retry: { schedule: [] } };
  const { secret = "" } = await client.create("/v1/endpoints", asked);
  return secret;
}

interface Delivery {
  id: string;
  status: string;
  attempt_count: number;
}

/** Publishes the data as it stands; answers the event's id. */
async function publish(type: string, data: string): Promise<string> {
  const reply = await client.send("POST", "/v1/events", {
    body: `{"type": "${type}", "data": ${data}}`,
    headers: { "content-type": "application/json" },
  });
  expect([reply.status, reply.json["problem"]]).toEqual([202, undefined]);
  return String(reply.json["id"]);
}

/** The event's one delivery, once so many attempts of it have ended, with the status of the last answer. */
async function settled(event: string, attempts = 1): Promise<Delivery & { answer: unknown }> {
  const delivery = await lookAgain(
    async () => {
      const { json } = await client.get(`/v1/deliveries?event_id=${event}`);
      const [one] = json["data"] as Delivery[];
      return one !== undefined && one.attempt_count >= attempts && one;
    },
    () => undefined,
  );
  const { json } = await client.get(`/v1/deliveries/${delivery.id}/attempts`);
  const answers = (json["data"] as { status_code: number; error: string }[]).map(
    ({ status_code, error }) => status_code ?? error,
  );
  expect(answers.length).toBe(attempts);
  return { ...delivery, answer: answers.at(-1) };
}

async function send(url: string, headers: Record<string, string>, body: string | Uint8Array) {
  const sent = { "content-type": "application/json", ...headers };
  return (await fetch(url, { method: "POST", headers: sent, body, redirect: "manual" })).status;
}

/** The headers of a delivery that is signed at this moment, or some seconds away from it. */
function sign(
  webhook: Pick<Webhook, "sign">,
  id: string,
  body: string,
  awaySeconds = 0,
): Record<string, string> {
  const at = new Date(Date.now() + awaySeconds * 1000);
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": webhook.sign(id, at, body),
  };
}

async function expectHandled({ name, server }: Running, id: string): Promise<void> {
  await lookAgain(
    async () => server.output.includes(id),
    () => undefined,
  );
  expect([name, server.output.split(id).length - 1]).toEqual([name, 1]);
}

const BODY = '{"type":"invoice.paid","timestamp":"2026-01-01T00:00:00Z","data":{"amount":4200}}';
const ODD_DATA = `{\t"größe" :\r\n 123456789012345678901234567890.0100e+2 , "\\u00fc": ["𝄞 \u2028 \\ud834\\udd1e",  -0.0 ]\n}`;
const ODD_BODY = `\n {"data" : ${ODD_DATA} ,\t"type":"invoice.paid"}\r\n\r\n `;
const KILOBYTE = "ü".repeat(512);
const FORGED = "msg_forged";
const OTHER = new Webhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");

type Forgery = [name: string, make: (webhook: Webhook) => [Record<string, string>, string | Uint8Array]];

const FORGERIES: Forgery[] = [
  ["signed with another secret", () => [sign(OTHER, FORGED, BODY), BODY]],
  ["with another amount", (webhook) => [sign(webhook, FORGED, BODY), BODY.replace("4200", "4201")]],
  ["with a space more", (webhook) => [sign(webhook, FORGED, BODY), `${BODY} `]],
  ["without a body", (webhook) => [sign(webhook, FORGED, BODY), ""]],
  ["signed too long ago", (webhook) => [sign(webhook, FORGED, BODY, -310), BODY]],
  ["signed too far ahead", (webhook) => [sign(webhook, FORGED, BODY, 330), BODY]],
  ["with the id of another", (webhook) => [{ ...sign(webhook, "msg_1", BODY), "webhook-id": FORGED }, BODY]],
  [
    "with a later timestamp",
    (webhook) => {
      const { "webhook-signature": signature = "" } = sign(webhook, FORGED, BODY, -310);
      return [{ ...sign(webhook, FORGED, BODY), "webhook-signature": signature }, BODY];
    },
  ],
  ["without headers", () => [{}, BODY]],
  ["no JSON", () => [sign(OTHER, FORGED, "{"), "{"]],
  ["no UTF-8", () => [sign(OTHER, FORGED, BODY), new Uint8Array([0x22, 0xff, 0xc3, 0x22])]],
  ...["", "garbage", ",", "v1", "v1,", "v1,a", "v1,ü", "v2,AAAA", "v1a,AAAA"].map(
    (text): Forgery => [
      `with the signature ${JSON.stringify(text)}`,
      (webhook) => [{ ...sign(webhook, FORGED, BODY), "webhook-signature": text }, BODY],
    ],
  ),
  ...["", "soon", "-1", "1e99", "9".repeat(40)].map(
    (text): Forgery => [
      `with the timestamp ${JSON.stringify(text)}`,
      (webhook) => [{ ...sign(webhook, FORGED, BODY), "webhook-timestamp": text }, BODY],
    ],
  ),
];

describe.each(receivers)("the receiver for $name", (receiver) => {
  const { isThere } = surroundingsOf(receiver);
  const { name } = receiver;
  let own: Running;

  test.skipIf(!isThere)(
    "is started as the page says, and takes a genuine delivery",
    async () => {
      own = await (running.get(name) ?? Promise.reject(new Error("it is not started")));
      const delivery = await settled(await publish(typeOf(name, "genuine"), '{"amount": 4200}'));
      expect(delivery).toMatchObject({ status: "delivered", answer: 204 });
      await expectHandled(own, delivery.id);
    },
    PREPARE_MS,
  );

  test.skipIf(!isThere)("takes text, numbers and white space of any kind", async () => {
    const event = await publish(typeOf(name, "genuine"), ODD_DATA);
    expect(await settled(event)).toMatchObject({ status: "delivered", answer: 204 });
    const headers = sign(own.webhook, "msg_odd", ODD_BODY);
    expect(await send(own.url, headers, ODD_BODY)).toBe(204);
  });

  test.skipIf(!isThere)("takes a body as large as Sealpost sends one", async () => {
    const event = await publish(typeOf(name, "genuine"), `{"text":"${KILOBYTE.repeat(1000)}"}`);
    expect(await settled(event)).toMatchObject({ status: "delivered", answer: 204 });
    const largest = BODY.replace("4200", JSON.stringify(KILOBYTE.repeat(2048)));
    expect(await send(own.url, sign(own.webhook, "msg_large", largest), largest)).toBe(204);
  });

  test.skipIf(!isThere)("takes one of several signatures", async () => {
    const { "webhook-signature": signature = "", ...headers } = sign(own.webhook, "msg_both", BODY);
    const rotated = `${OTHER.sign("msg_both", new Date(), BODY)} v1a,AAAA ${signature}`;
    expect(await send(own.url, { ...headers, "webhook-signature": rotated }, BODY)).toBe(204);
  });

  test.skipIf(!isThere)("refuses a delivery that another endpoint's secret signs", async () => {
    const delivery = await settled(await publish(typeOf(name, "forged"), "{}"));
    expect(delivery).toMatchObject({ status: "dead", answer: 401 });
    expect(own.server.output).not.toContain(delivery.id);
  });

  test.skipIf(!isThere)("refuses each forgery, and handles none", async () => {
    for (const [forgery, make] of FORGERIES) {
      const status = await send(own.url, ...make(own.webhook));
      // 400 is the framework's own, for a body that it cannot read.
      expect([forgery, status]).toEqual([forgery, status === 400 ? 400 : 401]);
    }
    const last = `msg_after_${FORGERIES.length}`;
    expect(await send(own.url, sign(own.webhook, last, BODY), BODY)).toBe(204);
    await expectHandled(own, last);
    expect(own.server.output).not.toContain(FORGED);
  });

  test.skipIf(!isThere)("takes a hundred deliveries at once, by the name of its host", async () => {
    for (let count = 1; count <= 100; count++) {
      const headers = { ...sign(own.webhook, `msg_${count}`, BODY), host: HOST };
      expect([count, await send(own.url, headers, BODY)]).toEqual([count, 204]);
    }
  });

  test.skipIf(!isThere).each([undefined, "", "whsec_", "whsec_c2hvcnQ="])(
    "verifies nothing where the secret is %p",
    async (secret) => {
      const answer = await answerWith(secret, own);
      expect([answer, answer === "not started" || answer >= 400]).toEqual([answer, true]);
    },
    PREPARE_MS,
  );
});

test.skipIf(!hasPython)("a delivery that comes again is handled once, after a kill too", async () => {
  const own = await running.get(DROPS_DUPLICATES);
  if (own === undefined) throw new Error("it is not started");
  const event = await publish(typeOf(own.name, "genuine"), "{}");
  const { id } = await settled(event);
  await expectHandled(own, id);
  const replay = async (attempts: number) => {
    expect((await client.post(`/v1/events/${event}/replay`)).status).toBe(202);
    expect(await settled(event, attempts)).toMatchObject({ id, status: "delivered", answer: 204 });
  };
  await replay(2);
  await expectHandled(own, id);
  own.server.signal("SIGKILL");
  await own.server.stop();
  await own.server.start();
  await replay(3);
  const next = await settled(await publish(typeOf(own.name, "genuine"), "{}"));
  await expectHandled(own, next.id);
  expect(own.server.output).not.toContain(id);
});
