import { type KindCase, textOf } from "./case.ts";
import { recorded } from "./recorded.ts";

const decode = (text: string) => Buffer.from(text, "base64").toString();

export const kafkaRest: KindCase = {
  kind: "kafka_rest",
  config: {
    url: "http://127.0.0.1:8082",
    topic: "orders",
    key: "customer-42",
    username: "sealpost",
    password: "kafka-password",
    send_headers: true,
  },
  refused: [{ name: "a topic that is a path", config: { topic: ".." }, pointer: "/config/topic" }],
  received(request) {
    const [record] = JSON.parse(textOf(request)).records;
    const pairs = record.headers.map((header: { key: string; value: string }) => [
      header.key,
      decode(header.value),
    ]);
    const headers = Object.fromEntries(pairs);
    return { body: decode(record.value), headers, identity: headers["webhook-id"] };
  },
  answers: [
    ...recorded("Strimzi Kafka Bridge 0.32", [
      ["an offset", 200, { offsets: [{ partition: 0, offset: 5 }] }, "delivered"],
      ["the first offset of all", 200, { offsets: [{ partition: 0, offset: 0 }] }, "delivered"],
      [
        "an error inside a 200: no such topic",
        200,
        { offsets: [{ error_code: 404, message: "Topic nope not present in metadata after 60000 ms." }] },
        "refused: error 404",
      ],
      [
        "an error inside a 200: too large",
        200,
        {
          offsets: [
            {
              error_code: 500,
              message:
                "The message is 2000088 bytes when serialized which is larger than 1048576, which is the value of the max.request.size configuration.",
            },
          ],
        },
        "refused: error 500",
      ],
      ["unreadable records", 422, { error_code: 422, message: "Unprocessable record" }, "record_refused"],
      ["no such path", 404, { error_code: 404, message: "Not Found" }, null],
    ]),
    ...recorded("Karapace 6.2.0", [
      [
        "an offset",
        200,
        { key_schema_id: null, value_schema_id: null, offsets: [{ offset: 7, partition: 0 }] },
        "delivered",
      ],
      [
        "acks=0: no offset is known",
        200,
        { key_schema_id: null, value_schema_id: null, offsets: [{ offset: -1, partition: 0 }] },
        "offset_missing",
      ],
      ["no such topic", 404, { error_code: 40401, message: "Topic nope not found" }, "topic_not_found"],
      [
        "record headers, which it does not know",
        422,
        { error_code: 422, message: "Invalid request format" },
        "record_refused",
      ],
      [
        "a broker that does not answer",
        422,
        {
          key_schema_id: null,
          value_schema_id: null,
          offsets: [{ error_code: 1, error: "timed out waiting to publish message" }],
        },
        "refused: error 1",
      ],
      [
        "a retriable error of the broker",
        422,
        {
          key_schema_id: null,
          value_schema_id: null,
          offsets: [
            {
              error_code: 2,
              error: "Messages are rejected since there are fewer in-sync replicas than required.",
            },
          ],
        },
        "refused: error 2",
      ],
      ["wrong credentials", 401, { message: "Unauthorized" }, "credentials_refused"],
      ["not for this user", 403, { message: "Forbidden" }, "permission_missing"],
      [
        "an offset with an error beside it",
        200,
        { offsets: [{ offset: 3, error_code: 50002 }] },
        "refused: error 50002",
      ],
      ["no offsets at all", 200, { offsets: [] }, "unexpected_answer"],
    ]),
  ],
};
