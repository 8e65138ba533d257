import { expect } from "bun:test";
import { Client } from "../kit/app.ts";
import { ENDPOINT_SECRET, type Recorder } from "../kit/recorder.ts";
import type { Service } from "../kit/service.ts";
import type { Target } from "./publishers.ts";

/** Settings of a service under load: no rate limits, and a log that a test can hold. */
export const LOAD_ENV = {
  SEALPOST_PUBLISH_RATE_LIMIT: "0",
  SEALPOST_MANAGEMENT_RATE_LIMIT: "0",
  SEALPOST_INGEST_RATE_LIMIT: "0",
  SEALPOST_LOG_LEVEL: "warn",
};

/** Between SIGTERM and the end of the process. */
const STOP_MS_MAX = 10_000;

/** SIGTERM: the process ends with exit code 0, in time. */
export async function stopInTime(service: Service): Promise<void> {
  const began = performance.now();
  expect(await service.stop()).toBe(0);
  expect(performance.now() - began).toBeLessThan(STOP_MS_MAX);
}

/** With the full key of the live project. */
export function clientOf(service: Service): Client {
  return new Client(service, service.keys.live);
}

/** An endpoint that signs with the secret that the recorder knows. */
export async function addEndpoint(service: Service, url: string, fields: object = {}): Promise<string> {
  const made = await clientOf(service).create("/v1/endpoints", { url, secret: ENDPOINT_SECRET, ...fields });
  return made["id"] ?? "";
}

/** A fast endpoint for everything, a slow one and one that refuses for their share, and a source. */
export async function prepareLoad(service: Service, recorder: Recorder): Promise<Target> {
  await addEndpoint(service, recorder.url("/fast"), { max_concurrency: 50 });
  await addEndpoint(service, recorder.url("/slow?delay_ms=400"), {
    event_types: ["slow.*", "service.slow.*"],
    max_concurrency: 100,
  });
  await addEndpoint(service, recorder.url("/flaky?refuse_one_in=5"), {
    event_types: ["flaky.*", "service.flaky.*"],
    retry: { schedule: [1, 1, 1, 1, 1, 1] },
  });
  const source = await clientOf(service).create("/v1/sources", { provider: "service", name: "load" });
  return {
    url: service.url,
    apiKey: service.keys.live,
    ingestPath: source["ingest_path"] ?? "",
    ingestSecret: source["secret"] ?? "",
  };
}
