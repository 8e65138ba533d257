import { type KindCase, textOf } from "./case.ts";
import { recorded } from "./recorded.ts";

const CONNECTION =
  "Endpoint=sb://127.0.0.1:5300;SharedAccessKeyName=sender;SharedAccessKey=c2VydmljZS1idXM=;UseDevelopmentEmulator=true";
const POINTER = "/config/connection_string";

export const azureServiceBus: KindCase = {
  kind: "azure_service_bus",
  config: { connection_string: CONNECTION, entity: "orders" },
  others: [
    {
      connection_string:
        "Endpoint=sb://127.0.0.1:5300;SharedAccessSignature=SharedAccessSignature sr=x&sig=y;UseDevelopmentEmulator=true",
      entity: "orders",
    },
  ],
  refused: [
    {
      name: "a connection string with a part twice",
      config: { connection_string: `${CONNECTION};${CONNECTION}`, entity: "orders" },
      pointer: POINTER,
    },
    {
      name: "a namespace on a private address",
      config: { connection_string: CONNECTION.replace("127.0.0.1", "10.0.0.1") },
      pointer: POINTER,
      code: "unsafe_destination",
    },
    {
      name: "a namespace on a private address, over https",
      config: {
        connection_string: "Endpoint=sb://192.168.1.1/;SharedAccessSignature=SharedAccessSignature sr=x",
      },
      pointer: POINTER,
      code: "unsafe_destination",
    },
    { name: "no connection string", config: { connection_string: "sb://x.example.com" }, pointer: POINTER },
    {
      name: "a connection string without its key",
      config: { connection_string: "Endpoint=sb://127.0.0.1;SharedAccessKeyName=sender" },
      pointer: POINTER,
    },
    {
      name: "an endpoint of another scheme",
      config: { connection_string: CONNECTION.replace("sb:", "ftp:") },
      pointer: POINTER,
    },
  ],
  statusDecides: true,
  received(request) {
    const headers = new Map(request.headers);
    const quoted = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => {
      return [name, JSON.parse(headers.get(name) ?? "")];
    });
    return {
      body: textOf(request),
      headers: Object.fromEntries(quoted),
      identity: JSON.parse(headers.get("brokerproperties") ?? "").MessageId,
    };
  },
  answers: [
    ...recorded("learn.microsoft.com/rest/api/servicebus/send-message-to-queue", [
      ["taken", 201, "", "delivered"],
      ["a 200 is no 201", 200, "", "unexpected_answer"],
      [
        "a wrong key",
        401,
        "<Error><Code>401</Code><Detail>InvalidSignature: The token has an invalid signature.</Detail></Error>",
        "signature_refused",
      ],
      [
        "a policy without the claim",
        401,
        "<Error><Code>401</Code><Detail>Unauthorized access. 'Send' claim(s) are required to perform this operation.</Detail></Error>",
        "send_claim_missing",
      ],
      ["a full queue", 403, "<Error><Code>403</Code></Error>", "quota_exceeded"],
      ["no such queue", 410, "<Error><Code>410</Code></Error>", "entity_not_found"],
      ["no such namespace path", 404, "", "entity_not_found"],
      ["a broken service", 500, "", null],
    ]),
  ],
};
