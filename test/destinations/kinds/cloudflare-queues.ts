import { type KindCase, textOf } from "./case.ts";
import { recorded } from "./recorded.ts";

export const cloudflareQueues: KindCase = {
  kind: "cloudflare_queues",
  config: {
    account_id: "023e105f4ecef8ad9ca31a8372d0c353",
    queue_id: "a7b3c1d2e4f5061728394a5b6c7d8e9f",
    api_token: "cloudflare-api-token",
    endpoint: "http://127.0.0.1:8787",
  },
  received(request) {
    const text = textOf(request);
    const start = '{"content_type":"json","body":';
    if (!text.startsWith(start) || !text.endsWith("}")) throw new Error(`another form: ${text}`);
    JSON.parse(text);
    return { body: text.slice(start.length, -1), headers: null, identity: null };
  },
  answers: [
    ...recorded("developers.cloudflare.com/api/resources/queues/subresources/messages/methods/push", [
      ["taken", 200, { success: true, errors: [], messages: [], result: null }, "delivered"],
      [
        "an error inside a 200",
        200,
        {
          success: false,
          errors: [{ code: 10027, message: "Message body too large" }],
          messages: [],
          result: null,
        },
        "refused: error 10027",
      ],
      ["success that is not true", 200, { success: "true" }, "refused"],
      [
        "a wrong token",
        401,
        { success: false, errors: [{ code: 10000, message: "Authentication error" }] },
        "credentials_refused",
      ],
      [
        "a token without the permission",
        403,
        { success: false, errors: [{ code: 10000, message: "Authentication error" }] },
        "permission_missing",
      ],
      [
        "no such queue",
        404,
        { success: false, errors: [{ code: 100123, message: "The specified queue does not exist." }] },
        "queue_not_found",
      ],
      [
        "a malformed request",
        400,
        { success: false, errors: [{ code: 10026, message: "Invalid request body" }] },
        "refused: error 10026",
      ],
    ]),
  ],
};
