import type { OutgoingRequest } from "../../../src/destinations/destination.ts";
import { DELIVERED, type KindCase, refused, textOf, webhookHeaders } from "./case.ts";

const url = "http://127.0.0.1:9/hook";

/** The three headers, by either prefix: what differed between the two would stand here. */
function bothPrefixes({ headers }: OutgoingRequest): Record<string, string> {
  const second = headers.map(([name, value]) => [name.replace(/^svix-/, "webhook-"), value] as const);
  return { ...webhookHeaders(headers), ...webhookHeaders(second) };
}

export const http: KindCase = {
  kind: "http",
  config: { url, header_prefix: "svix" },
  others: [{ url }],
  received: (request) => ({
    body: textOf(request),
    headers: bothPrefixes(request),
    identity: webhookHeaders(request.headers)["webhook-id"] ?? null,
  }),
  statusDecides: true,
  answers: [
    { name: "200", status: 200, judged: DELIVERED },
    { name: "299", status: 299, judged: DELIVERED },
    { name: "a redirect", status: 301, headers: { location: "https://example.com/" }, judged: refused(null) },
    { name: "404", status: 404, judged: refused(null) },
    { name: "500", status: 500, judged: refused(null) },
  ],
};
