/**
 * The program of a project that has installed the package: a text, as only there its import leads anywhere.
 * It prints one JSON object of what it found.
 */
import manifest from "../../sdk/typescript/package.json";

export const JOURNEY = `
import { ApiError, ConnectionError, InvalidRequestError, NotFoundError, Sealpost } from "${manifest.name}";
import type { NewEvent } from "${manifest.name}";

const { SERVICE: url = "", CUT: cutUrl = "", KEY: key = "", RECEIVER: receiver = "" } = process.env;
const sealpost = new Sealpost({ url, key });
const told: Record<string, unknown> = {};
told["exports"] = Object.keys(await import("${manifest.name}")).sort();

const made = await sealpost.endpoints.create({ url: receiver, event_types: ["trip.*"], retry: { schedule: [] } });
told["secret"] = made.secret?.slice(0, 6);

const published: string[] = [];
for (const n of [1, 2, 3, 4, 5])
  published.unshift((await sealpost.events.publish({ type: "trip.made", data: { n } })).id);
const asked = { type: "trip.made", limit: 2 };
const listed: string[] = [];
for await (const event of sealpost.events.list(asked)) listed.push(event.id);
told["listed"] = listed.join() === published.join();
const pages: number[] = [];
for await (const { data } of sealpost.events.list(asked).pages()) pages.push(data.length);
told["pages"] = pages;

const cut = new Sealpost({ url: cutUrl, key });
const once = await cut.events.publish({ type: "trip.once", data: {} });
const same = await sealpost.events.list({ type: "trip.once" }).page();
told["once"] = same.data.map(({ id }) => id === once.id);

const digits = "12345678901234567890";
const exact = new Sealpost({
  url,
  key,
  json: { parse: (text) => ({ ...JSON.parse(text), text }), stringify: () => \`{"type":"big","data":{"n":\${digits}}}\` },
});
const big = await exact.events.publish({ type: "big", data: {} });
told["digits"] = JSON.stringify(await exact.events.get(big.id)).includes(digits);

const gone = new Sealpost({ url: "http://127.0.0.1:1", key, retries: 0 });
await gone.project.get().catch((error: unknown) => (told["nobody"] = error instanceof ConnectionError));
await sealpost.events.get("evt_01KAHM9Q7W00A1B2C3D4E5F6G7").catch((error: unknown) => {
  if (error instanceof NotFoundError) told["missing"] = [error.status, error.code, error.requestId?.length];
});
await sealpost.endpoints.create({ url: "nonsense" }).catch((error: unknown) => {
  if (error instanceof InvalidRequestError) told["invalid"] = error.errors.map(({ pointer }) => pointer);
});
await new Sealpost({ url, key: "sp_test_wrong" }).project.get().catch((error: unknown) => {
  if (error instanceof ApiError) told["stranger"] = error.status;
});

const lost = await sealpost.events.publish({ type: "trip.lost", data: {} });
async function until(status: "dead" | "delivered"): Promise<number> {
  const { data } = await sealpost.deliveries.list({ event_id: lost.id, status }).page();
  if (data.length > 0) return data.length;
  await new Promise((resolve) => setTimeout(resolve, 20));
  return until(status);
}
told["dead"] = await until("dead");
const replay = await sealpost.replays.create({ status: ["dead"] });
told["replayed"] = replay.matched;
told["delivered"] = await until("delivered");

await sealpost.endpoints.delete(made.id);
told["deleted"] = await sealpost.endpoints.get(made.id).catch(({ name }: Error) => name);

// @ts-expect-error An event has a type.
export const typeless: NewEvent = { data: {} };
// @ts-expect-error A name that is misspelt is found.
export const misspelt = () => sealpost.events.list({ tpye: "a" });
// @ts-expect-error A call that reads takes no key.
export const keyed = () => sealpost.events.get("evt_1", { idempotencyKey: "a" });
console.log(JSON.stringify(told));
`;

/** What it finds at a service that works. */
export const FOUND = {
  exports: [
    ...["ApiError", "ConflictError", "ConnectionError", "InvalidRequestError", "List", "NotFoundError"],
    ...["RateLimitError", "Sealpost", "SealpostError"],
  ],
  secret: "whsec_",
  listed: true,
  pages: [2, 2, 1],
  once: [true],
  digits: true,
  nobody: true,
  missing: [404, "not_found", 36],
  invalid: ["/url"],
  stranger: 401,
  dead: 1,
  replayed: 1,
  delivered: 1,
  deleted: "NotFoundError",
};

/** What `test/sdk/python/journey.py` finds, which goes on where the other ends. */
export const FOUND_IN_PYTHON = {
  ...FOUND,
  exports: [
    ...["Answer", "ApiError", "Bounds", "ConflictError", "ConnectionError", "Fault", "InvalidRequestError"],
    ...["List", "NotFoundError", "RateLimitError", "Sealpost", "SealpostError", "Send"],
  ],
  source: "paused",
  unsigned: 401,
  kinds: true,
  healthy: "ok",
};
