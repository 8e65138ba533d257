import { DELIVERED, type KindCase, refused, textOf, webhookHeaders } from "./case.ts";

export const http: KindCase = {
  kind: "http",
  config: { url: "http://127.0.0.1:9/hook" },
  received: (request) => ({
    body: textOf(request),
    headers: webhookHeaders(request.headers),
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
