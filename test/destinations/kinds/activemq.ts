import { type KindCase, textOf, webhookHeaders } from "./case.ts";
import { recorded } from "./recorded.ts";

export const activemq: KindCase = {
  kind: "activemq",
  config: {
    url: "http://127.0.0.1:8161",
    destination: "queue://orders",
    username: "admin",
    password: "active-password",
  },
  refused: [
    {
      name: "a destination of another kind",
      config: { destination: "temp://x" },
      pointer: "/config/destination",
    },
    { name: "a destination with options", config: { destination: "a?b=c" }, pointer: "/config/destination" },
  ],
  statusDecides: true,
  received(request) {
    const form = new URLSearchParams(textOf(request));
    return {
      body: form.get("body") ?? "",
      headers: webhookHeaders(form),
      identity: form.get("JMSCorrelationID"),
    };
  },
  answers: [
    ...recorded("ActiveMQ Classic 5.18.3", [
      ["stored", 200, "Message sent", "delivered"],
      ["wrong password", 401, "<title>Error 401 Unauthorized</title>", "credentials_refused"],
      [
        "a form above Jetty's limit",
        400,
        "Caused by: java.lang.IllegalStateException: Form is larger than max length 200000",
        "message_too_large",
      ],
      [
        "a user that may not write",
        500,
        "javax.jms.JMSSecurityException: User system is not authorized to write to: queue://orders",
        "permission_missing",
      ],
      ["a broken broker", 500, "Could not post JMS message", null],
    ]),
  ],
};
