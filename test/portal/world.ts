/**
 * A project as its people would find it: a customer's name and colour, described event types, endpoints that
 * work, fail, wait and are gone, deliveries in every state. Screens, their tests and the screenshots are
 * shown over it.
 */
import { type Client, startApp, type TestApp } from "../kit/app.ts";
import { type Receiver, startReceiver } from "../kit/receiver.ts";
import { drawLogo, paintHistory, paintSources } from "./scenery.ts";
import { makeSources, type Sources } from "./world-sources.ts";

export interface World extends AsyncDisposable {
  app: TestApp;
  receiver: Receiver;
  /** Ids by what they are for. */
  endpoints: { works: string; fails: string; paused: string; gone: string; foreign: string };
  sources: Sources;
  /** A link's address on this machine, with these grants. */
  link: (body?: Record<string, unknown>) => Promise<string>;
  /** The portal's address with a key of the project: the full one unless said otherwise. */
  console: (path: string, key?: string) => string;
}

const BRAND = [217, 72, 15] as const;

export const CONSUMER = "cust_7";

/** What a stranger may send: it must stand on every page as text. */
export const HOSTILE = `"><img src=x onerror=alert(1)><script>alert(2)</script>`;

const TYPES = [
  ["invoice.paid", "Invoices", "An invoice was paid in full.", { id: "in_42", total: 990, currency: "EUR" }],
  ["invoice.overdue", "Invoices", "The due date of an invoice has passed.", { id: "in_42", days: 3 }],
  ["customer.created", "Customers", "Somebody signed up.", { id: "cu_1", email: "anna@example.com" }],
  ["customer.deleted", "Customers", "An account was closed.", { id: "cu_1" }],
] as const;

/** What the schema of `invoice.paid` says of its data. */
const INVOICE = {
  type: "object",
  required: ["id", "total"],
  properties: {
    id: { type: "string", description: "Of the invoice.", pattern: "^in_" },
    total: { type: "integer", minimum: 0, description: "Of the smallest unit, such as cents." },
    currency: { enum: ["EUR", "USD"], description: "As ISO 4217 has it." },
    customer: {
      type: "object",
      description: "Who paid.",
      required: ["email"],
      properties: { email: { type: "string", format: "email" }, name: { type: ["string", "null"] } },
    },
    lines: {
      type: "array",
      maxItems: 100,
      items: { type: "object", properties: { sku: { type: "string" } } },
    },
  },
};

/** What the README's picture of the editors shows. */
const SHAPE = {
  filter: { data: { total: { $gte: 500 } } },
  transformations: [
    { op: "rename", from: "data.id", to: "data.invoice_id" },
    { op: "omit", paths: ["data.currency"] },
  ],
};

/** `isScenic`: as the README's pictures show it, with a past and without an attack in a name. */
export async function startWorld({ isScenic = false } = {}): Promise<World> {
  const app = await startApp({ env: { SEALPOST_BASE_URL: "http://localhost" } });
  const receiver = startReceiver();
  const { live } = app;
  const logo = receiver.at("logo.png", () => new Response(drawLogo(BRAND)));
  await live.patch("/v1/project", { branding: { name: "Acme Billing", color: "#d9480f", logo_url: logo } });
  for (const [name, group, description, example] of TYPES) {
    await live.create("/v1/event-types", { name, group, description, example });
  }
  await live.patch("/v1/event-types/invoice.paid", { schema: INVOICE });
  const endpoints = await makeEndpoints(live, receiver, isScenic ? "Old shop" : `Old shop ${HOSTILE}`);
  const sources = await makeSources(app, receiver, isScenic ? "Old shop" : `Old shop ${HOSTILE}`);
  if (isScenic) {
    paintHistory(app.dataDir);
    paintSources(app.dataDir);
  }
  await publish(live, receiver);
  await settle(app);
  await live.post(`/v1/endpoints/${endpoints.paused}/pause`);
  await live.post("/v1/events", { type: "invoice.overdue", data: { id: "in_9" }, consumer_id: CONSUMER });
  if (isScenic) await shape(live, endpoints.works);
  const link = async (body: Record<string, unknown> = { consumer_id: CONSUMER }) => {
    const { url = "" } = await live.create("/v1/portal-links", body);
    return url.replace("http://localhost", app.url);
  };
  const opened = (path: string, key = app.keys.live) => `${app.url}/portal#${key}${path}`;
  const stop = async () => {
    await app[Symbol.asyncDispose]();
    await receiver.close();
  };
  return { app, receiver, endpoints, sources, link, console: opened, [Symbol.asyncDispose]: stop };
}

async function makeEndpoints(live: Client, receiver: Receiver, oldName: string): Promise<World["endpoints"]> {
  receiver.at("fails", () => new Response("database is down", { status: 500 }));
  receiver.at("gone", () => new Response(null, { status: 410 }));
  const make = async (path: string, fields: Record<string, unknown>) => {
    const { id = "" } = await live.create("/v1/endpoints", {
      url: receiver.url(path),
      consumer_id: CONSUMER,
      ...fields,
    });
    return id;
  };
  return {
    works: await make("works", { description: "Ledger", event_types: ["invoice.*", "customer.created"] }),
    fails: await make("fails", { description: "Data warehouse", retry: { schedule: [3600, 7200] } }),
    paused: await make("paused", { event_types: ["invoice.overdue"] }),
    gone: await make("gone", { description: oldName, event_types: ["customer.deleted"] }),
    foreign: await make("foreign", { description: "Of another consumer", consumer_id: "cust_8" }),
  };
}

/** Filter and transformations, and events that show what they do. */
async function shape(live: Client, endpoint: string): Promise<void> {
  await live.patch(`/v1/endpoints/${endpoint}`, SHAPE);
  for (const total of [120, 1290]) {
    const data = { id: `in_${total}`, total, currency: "EUR" };
    await live.post("/v1/events", { type: "invoice.paid", data, consumer_id: CONSUMER });
  }
}

async function publish(live: Client, receiver: Receiver): Promise<void> {
  const events = Array.from({ length: 24 }, (_, at) => {
    const [type, , , example] = TYPES[at % 3] ?? TYPES[0];
    return { type, data: { ...example, nth: at }, consumer_id: CONSUMER };
  });
  await live.post("/v1/events/batch", { events });
  await live.post("/v1/events", { type: "customer.deleted", data: { note: HOSTILE }, consumer_id: CONSUMER });
  await receiver.arrived("works", 24);
  await receiver.arrived("gone", 1);
}

/** What has arrived is counted and listed a moment later. */
async function settle(app: TestApp): Promise<void> {
  await app.until(async () => {
    const { json } = await app.live.get("/v1/stats");
    const { delivered, failed } = json["total"] as { delivered: number; failed: number };
    return delivered >= 24 && failed >= 2;
  });
}
