import { type DestinationKind, isSuccess } from "../destination.ts";
import { USER_AGENT } from "../user-agent.ts";

/** A URL of the customer's: Standard Webhooks over HTTP (contract section 4). */
export const http: DestinationKind = {
  kind: "http",
  name: "HTTP URL",
  fields: [
    {
      name: "url",
      label: "URL",
      help: "Where deliveries are posted to. It must resolve to public addresses only.",
      required: true,
      secret: false,
      address: true,
    },
  ],
  maxBytes: null,
  request(config, message) {
    const headers: [string, string][] = [
      ["content-type", "application/json"],
      ["user-agent", USER_AGENT],
      ["webhook-id", message.id],
      ["webhook-timestamp", String(message.timestampSeconds)],
      ["webhook-signature", message.signature],
    ];
    return { method: "POST", url: new URL(String(config.url)), headers: [...headers, ...message.headers.map(([n, v]): [string, string] => [n, v])], body: message.body };
  },
  judge: (status) => (isSuccess(status) ? { delivered: true } : { delivered: false, errorCode: null, throttled: false }),
};
