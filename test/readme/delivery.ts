/** One delivery of the real service, as a receiver gets it, for snippets that verify. */
import { type ReceivedRequest, startReceiver } from "../kit/receiver.ts";
import { startService } from "../kit/service.ts";

export interface Sample {
  secret: string;
  body: string;
  headers: ReceivedRequest["headers"];
}

/** Publishes `{"type": "invoice.paid", "data": {"amount": 4200}}` and answers what arrived. */
export async function takeDelivery(): Promise<Sample> {
  await using receiver = startReceiver();
  await using service = await startService();
  const post = async (path: string, body: unknown) => {
    const headers = { authorization: `Bearer ${service.keys.test}`, "content-type": "application/json" };
    const answer = await fetch(service.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
    return (await answer.json()) as { secret: string };
  };
  const { secret } = await post("/v1/endpoints", { url: receiver.url("hook") });
  await post("/v1/events", { type: "invoice.paid", data: { amount: 4200 } });
  const [request] = await receiver.arrived("hook");
  if (!request) throw new Error("nothing arrived");
  return { secret, body: request.body.toString(), headers: request.headers };
}

/** The same delivery, with another amount. */
export function forge(sample: Sample): Sample {
  return { ...sample, body: sample.body.replace("4200", "4201") };
}
