import { type KindCase, textOf } from "./case.ts";
import { recorded } from "./recorded.ts";

/** The answers were had of a server with users, exchanges and queues made so. */
export const rabbitmq: KindCase = {
  kind: "rabbitmq",
  config: {
    url: "http://127.0.0.1:15672/behind/a/proxy/",
    vhost: "/",
    exchange: "amq.topic",
    routing_key: "orders.new",
    username: "sealpost",
    password: "rabbit-pässword",
  },
  refused: [
    { name: "an exchange that is a path", config: { exchange: ".." }, pointer: "/config/exchange" },
    { name: "a user name with a colon", config: { username: "a:b" }, pointer: "/config/username" },
  ],
  received(request) {
    const message = JSON.parse(textOf(request));
    return {
      body: Buffer.from(message.payload, message.payload_encoding).toString(),
      headers: message.properties.headers,
      identity: message.properties.message_id,
    };
  },
  answers: [
    ...recorded("RabbitMQ 3.10.8", [
      ["a queue took it", 200, { routed: true }, "delivered"],
      ["no binding matched", 200, { routed: false }, "unroutable"],
      [
        "no such exchange",
        400,
        { error: "bad_request", reason: "404 NOT_FOUND - no exchange 'nope' in vhost '/'" },
        "exchange_not_found",
      ],
      ["no such vhost", 401, { error: "not_authorised", reason: "Access refused." }, "vhost_refused"],
      [
        "no permissions in the vhost",
        401,
        { error: "not_authorised", reason: "User not authorised to access virtual host" },
        "vhost_refused",
      ],
      ["wrong password", 401, { error: "not_authorized", reason: "Login failed" }, "credentials_refused"],
      [
        "a user without the tag",
        401,
        { error: "not_authorised", reason: "Not management user" },
        "management_tag_missing",
      ],
      [
        "no write permission",
        400,
        {
          error: "bad_request",
          reason:
            "403 ACCESS_REFUSED - access to exchange 'amq.topic' in vhost '/' refused for user 'reader'",
        },
        "write_permission_missing",
      ],
      [
        "an internal exchange",
        400,
        {
          error: "bad_request",
          reason: "403 ACCESS_REFUSED - cannot publish to internal exchange 'internalx' in vhost '/'",
        },
        "exchange_internal",
      ],
      [
        "a full queue that rejects",
        400,
        { error: "bad_request", reason: "rejected Unable to publish message. Check queue limits." },
        "queue_full",
        true,
      ],
      [
        "a body of 12 MiB",
        400,
        { error: "bad_request", reason: "Exceeded HTTP request body size limit" },
        "message_too_large",
      ],
      ["another server's page", 200, "<html></html>", "unexpected_answer"],
      ["an error of its own", 500, "", null],
    ]),
  ],
};
