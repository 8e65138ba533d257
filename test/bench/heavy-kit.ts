/** What the heavy floods are made of. */

/** The service that is flooded, as the one who floods it sees it. */
export interface Target {
  port: number;
  key: string;
  /** How many endpoints a wide event has. */
  endpoints: number;
}

/** Answers by status. */
export type Tally = Record<string, number>;

/** Of the operator whose token it is. */
export interface Account {
  id: string;
  projects: { id: string; mode: string; api_key: string }[];
}

export async function makeAccount(port: number, operator: string): Promise<Account> {
  const fields = { name: "bench", plan: "unlimited" };
  const reply = await call({ port, key: operator, endpoints: 0 }, "POST", "/v1/operator/accounts", fields);
  if (reply.status !== 201) throw new Error(`no account: ${reply.status} ${await reply.text()}`);
  return (await reply.json()) as Account;
}

/** The key of an account's live project. */
export function liveKeyOf({ projects }: Account): string {
  return projects.find(({ mode }) => mode === "live")?.api_key ?? "";
}

export async function makeLink(target: Target, consumer: string): Promise<string> {
  const reply = await call(target, "POST", "/v1/portal-links", { consumer_id: consumer });
  return ((await reply.json()) as { url: string }).url.split("#")[1] ?? "";
}

export async function untilSent(target: Target, event: string): Promise<void> {
  for (;;) {
    const reply = await call(target, "GET", `/v1/deliveries?event_id=${event}&status=pending&limit=1`);
    const { data } = (await reply.json()) as { data: unknown[] };
    if (data.length === 0) return;
    await Bun.sleep(500);
  }
}

export async function makeEndpoints(target: Target, count: number, fields: object): Promise<void> {
  const tally = await atOnce(count, () => call(target, "POST", "/v1/endpoints", fields), 32);
  if (tally["201"] !== count) throw new Error(`no endpoints: ${JSON.stringify(tally)}`);
}

export function publish(target: Target, data: object, fields: object = {}): Promise<Response> {
  return call(target, "POST", "/v1/events", { type: "bench.heavy", data, ...fields });
}

export function call({ port, key }: Target, method: string, path: string, body?: object): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

/** `count` calls, so many `together`, each read to its end. */
export async function atOnce(count: number, ask: () => Promise<Response>, together = 8): Promise<Tally> {
  const tally: Tally = {};
  let left = count;
  const goOn = async () => {
    while (left-- > 0) {
      const reply = await ask();
      await reply.arrayBuffer();
      tally[reply.status] = (tally[reply.status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, together) }, goOn));
  return tally;
}
