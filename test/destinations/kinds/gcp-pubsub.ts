import { type KindCase, textOf } from "./case.ts";
import { recorded } from "./recorded.ts";
import { grantToken, mersenneKey, serviceAccount } from "./google.ts";

const POINTER = "/config/service_account_json";

export const gcpPubsub: KindCase = {
  kind: "gcp_pubsub",
  config: {
    project_id: "acme-1",
    topic: "orders",
    service_account_json: serviceAccount("http://127.0.0.1:9099/token"),
    endpoint: "http://127.0.0.1:9098",
  },
  refused: [
    {
      name: "a token address in a private network",
      config: { service_account_json: serviceAccount("http://10.0.0.1/token") },
      pointer: POINTER,
      code: "unsafe_destination",
    },
    { name: "no key file", config: { service_account_json: "{}" }, pointer: POINTER },
    {
      name: "a key file without its key",
      config: { service_account_json: serviceAccount("http://127.0.0.1/token", "none") },
      pointer: POINTER,
    },
    {
      name: "a key whose signatures take too long",
      config: { service_account_json: serviceAccount("http://127.0.0.1/token", mersenneKey(2203, 2281)) },
      pointer: POINTER,
    },
    {
      name: "a key file whose token address is none",
      config: { service_account_json: serviceAccount("none") },
      pointer: POINTER,
    },
  ],
  asked: grantToken,
  received(request) {
    const [message] = JSON.parse(textOf(request)).messages;
    return {
      body: Buffer.from(message.data, "base64").toString(),
      headers: message.attributes,
      identity: message.attributes["webhook-id"],
    };
  },
  answers: [
    ...recorded(
      "cloud.google.com/pubsub/docs/reference/rest/v1/projects.topics/publish, …/reference/error-codes",
      [
        ["an id", 200, { messageIds: ["19917247034"] }, "delivered"],
        ["no id", 200, { messageIds: [] }, "unexpected_answer"],
        ["nothing", 200, {}, "unexpected_answer"],
        [
          "no such topic",
          404,
          { error: { code: 404, message: "Resource not found (resource=orders).", status: "NOT_FOUND" } },
          "topic_not_found",
        ],
        [
          "no role",
          403,
          {
            error: {
              code: 403,
              message: "User not authorized to perform this action.",
              status: "PERMISSION_DENIED",
            },
          },
          "permission_missing",
        ],
        [
          "a token that ended",
          401,
          {
            error: {
              code: 401,
              message: "Request had invalid authentication credentials.",
              status: "UNAUTHENTICATED",
            },
          },
          "token_refused",
        ],
        [
          "a quota",
          429,
          { error: { code: 429, message: "Quota exceeded.", status: "RESOURCE_EXHAUSTED" } },
          "quota_exceeded",
          true,
        ],
        [
          "an outage",
          503,
          { error: { code: 503, message: "The service is unavailable.", status: "UNAVAILABLE" } },
          null,
        ],
      ],
    ),
  ],
};
