import { steadyOver } from "../kit/clock.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { Cipher } from "../../src/core/cipher.ts";
import { makeSecret } from "../../src/core/signing.ts";
import { makeActors } from "../kit/actors.ts";
import { makePipeline } from "../kit/pipeline.ts";
import type { Incoming } from "../../src/pipeline/pipeline.ts";
import { type Data, openData } from "../../src/store/data.ts";
import { plainEndpoint } from "../kit/endpoint.ts";
import { openMemory } from "../kit/memory.ts";
import { storeParts } from "../kit/store-parts.ts";
import { percentiles } from "./clock.ts";

const ROUNDS = 500;
const MATCHED = 10;

/** What choosing the receivers of one event takes, without its writes. */
export interface PrepareCost {
  name: string;
  matched: number;
  p50Ms: number;
  p99Ms: number;
  longestMs: number;
}

interface Case {
  name: string;
  matched: number;
  /** Types and filter of the endpoint with this number. */
  endpoint: (at: number) => { eventTypes: string[]; filter: unknown };
  event: { type: string; data: string };
}

function casesOf(endpoints: number): Case[] {
  const amount = { data: { amount: { $gte: 10 } } };
  const groups = endpoints / MATCHED;
  const customer = { data: { customer: { id: "c_7" }, amount: { $gte: 10 } } };
  return [
    {
      name: "ten subscribe to its type",
      matched: MATCHED,
      endpoint: (at) => ({
        eventTypes: [`order.t${at % groups}`, `invoice.t${at % groups}.*`],
        filter: amount,
      }),
      event: { type: "order.t7", data: '{"amount":42,"lines":[{"sku":"a"},{"sku":"b"}]}' },
    },
    {
      name: "all subscribe, ten filters say yes",
      matched: MATCHED,
      endpoint: (at) => ({
        eventTypes: ["order.*"],
        filter: { data: { ...customer.data, customer: { id: `c_${at % groups}` } } },
      }),
      event: { type: "order.paid", data: '{"amount":42,"customer":{"id":"c_7"}}' },
    },
    {
      name: "all subscribe, all filters say yes",
      matched: endpoints,
      endpoint: () => ({ eventTypes: ["order.*"], filter: amount }),
      event: { type: "order.paid", data: '{"amount":42,"customer":{"id":"c_7"}}' },
    },
  ];
}

/** Times the pipeline's plans over a database in memory, one case after the other. */
export async function prepareCosts(endpoints: number): Promise<PrepareCost[]> {
  const costs: PrepareCost[] = [];
  for (const one of casesOf(endpoints)) costs.push(await prepareCost(one, endpoints));
  return costs;
}

async function prepareCost(
  { name, matched, endpoint, event }: Case,
  endpoints: number,
): Promise<PrepareCost> {
  const data = openNouns();
  const account = await data.tenants.createAccount({ name: "bench", plan: "unlimited" });
  const project = await data.tenants.createProject(account.id, "bench", "live");
  await insertEndpoints(data, project.id, endpoints, endpoint);
  const { actors } = makeActors(data, {
    clock: steadyOver(systemClock),
    send: async () => null,
  });
  const pipeline = makePipeline(data, actors);
  const incoming: Incoming = {
    ...event,
    timestamp: Date.now(),
    consumerId: null,
    externalId: null,
    sourceId: null,
    isTest: false,
    hops: 0,
    trace: null,
  };
  const timesUs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = performance.now();
    await pipeline.prepare(project.id, [incoming]);
    timesUs.push((performance.now() - startedAt) * 1000);
  }
  return { name, matched, ...percentiles(timesUs), longestMs: Math.max(...timesUs) / 1000 };
}

function openNouns(): Data {
  return openData(openMemory(), storeParts(), {
    cipher: new Cipher([new Uint8Array(32).fill(1)]),
    cell: "00",
  });
}

async function insertEndpoints(
  data: Data,
  projectId: number,
  count: number,
  routing: Case["endpoint"],
): Promise<void> {
  const made = await data.store.write(() =>
    Array.from({ length: count }, (_, at) =>
      data.endpoints.insert({
        ...plainEndpoint,
        projectId,
        config: { url: "http://127.0.0.1:9/" },
        secret: makeSecret(),
        updatedAt: Date.now(),
        ...routing(at),
      }),
    ),
  );
  for (const endpoint of made) data.endpoints.announce(endpoint);
}
