/** The service with a receiver, and what tests of endpoints do with them all the time. */
import { expect } from "bun:test";
import type { EndpointAnswer } from "../../../src/http/endpoints/shape.ts";
import { startApp, type TestApp } from "../../kit/app.ts";
import { type Receiver, startReceiver } from "../../kit/receiver.ts";
import { expectProblem, type Reply } from "../kit.ts";

export type CreatedEndpoint = EndpointAnswer & { secret: string };

export class EndpointBench implements AsyncDisposable {
  readonly receiver: Receiver = startReceiver();
  #names = 0;

  constructor(readonly app: TestApp) {}

  /** A receiver path and an event type of its own, so that tests do not meet. */
  fresh(): { name: string; url: string; type: string } {
    const name = `t${++this.#names}`;
    return { name, url: this.receiver.url(name), type: `made.${name}` };
  }

  create(fields: Record<string, unknown>): Promise<CreatedEndpoint> {
    return this.app.live.create<CreatedEndpoint>("/v1/endpoints", fields);
  }

  async read(id: string): Promise<EndpointAnswer> {
    return (await this.app.live.get(`/v1/endpoints/${id}`)).json as unknown as EndpointAnswer;
  }

  /** Publishes an event that has to be accepted: its id. */
  async publish(type: string): Promise<string> {
    const reply = await this.app.live.post("/v1/events", { type, data: { n: 1 } });
    expect(reply.status).toBe(202);
    return String(reply.json["id"]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app[Symbol.asyncDispose]();
    await this.receiver.close();
  }
}

export async function startBench(): Promise<EndpointBench> {
  return new EndpointBench(await startApp());
}

export function expectFault(reply: Reply, pointer: string, code = "invalid_request"): void {
  expectProblem(reply, 422, code);
  expect(reply.json.errors?.map((fault) => fault.pointer)).toContain(pointer);
}
