/** What tests of sources and of their door do all the time. */
import type { SourceAnswer } from "../../../src/http/sources/shape.ts";
import type { TestApp } from "../../kit/app.ts";
import type { Reply, RequestBody } from "../kit.ts";

export type CreatedSource = SourceAnswer & { secret: string };

export function createSource(
  app: TestApp,
  provider: string,
  fields: Record<string, unknown> = {},
): Promise<CreatedSource> {
  return app.live.create<CreatedSource>("/v1/sources", { provider, name: "A source", ...fields });
}

export async function readSource(app: TestApp, { id }: SourceAnswer): Promise<SourceAnswer> {
  return (await app.live.get(`/v1/sources/${id}`)).json as unknown as SourceAnswer;
}

export async function eventsOf(app: TestApp, { id }: SourceAnswer): Promise<{ id: string; type: string }[]> {
  const { json } = await app.live.get(`/v1/events?limit=250&source_id=${id}`);
  return json["data"] as { id: string; type: string }[];
}

/** A POST to the door as it is, without any key. */
export function knock(
  app: TestApp,
  path: string,
  body: RequestBody,
  headers: Record<string, string> = {},
): Promise<Reply> {
  return app.with(null).send("POST", path, { body, headers });
}

/** A request that the generic token provider accepts. */
export function sendToken(app: TestApp, source: CreatedSource, body: unknown): Promise<Reply> {
  return knock(app, source.ingest_path, JSON.stringify(body), { "x-service-token": source.secret });
}
