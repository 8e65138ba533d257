import { type KindCase, textOf } from "./case.ts";
import { recorded } from "./recorded.ts";

export const pulsar: KindCase = {
  kind: "pulsar",
  config: {
    url: "http://127.0.0.1:8080",
    topic: "persistent://public/default/orders",
    key: "customer-42",
    token: "pulsar-token",
  },
  refused: [
    { name: "a topic in half a namespace", config: { topic: "public/orders" }, pointer: "/config/topic" },
    { name: "a topic that is a path", config: { topic: "public/default/.." }, pointer: "/config/topic" },
    { name: "a tenant that is a path", config: { topic: "../default/orders" }, pointer: "/config/topic" },
  ],
  received(request) {
    const [message] = JSON.parse(textOf(request)).messages;
    return { body: message.payload, headers: message.properties, identity: message.properties["webhook-id"] };
  },
  answers: [
    ...recorded("Pulsar 4.0.8", [
      [
        "an id",
        200,
        {
          messagePublishResults: [{ messageId: "5:0:-1", errorCode: 0, schemaVersion: 0 }],
          schemaVersion: 0,
        },
        "delivered",
      ],
      [
        "an error inside a 200",
        200,
        {
          messagePublishResults: [
            {
              messageId: "0",
              errorCode: 2,
              errorMsg: "Topic not owned by current broker.",
              schemaVersion: 0,
            },
          ],
          schemaVersion: 0,
        },
        "refused: error 2",
      ],
      [
        "no such topic",
        500,
        { reason: "Fail to publish message: Topic persistent://public/default/t1 not found" },
        "topic_not_found",
      ],
      [
        "no such namespace",
        500,
        { reason: "Fail to publish message: Namespace not found" },
        "namespace_not_found",
      ],
      [
        "a schema that text does not fit",
        500,
        {
          reason:
            "Fail to publish message:org.apache.pulsar.broker.service.schema.exceptions.SchemaException: Unable to add schema",
        },
        "schema_refused",
      ],
      ["a token that is none", 401, { reason: "Authentication required" }, "credentials_refused"],
      [
        "a role that may not produce",
        401,
        {
          reason:
            "Unauthorized to produce to topic persistent://public/default/t1 with clientAppId [reader] and authdata null",
        },
        "permission_missing",
      ],
      ["another broker's topic", 307, "", "other_broker"],
      ["nothing that says so", 200, {}, "unexpected_answer"],
    ]),
  ],
};
