import { type AnswerCase, DELIVERED, type KindCase, type Meaning, refused, textOf } from "./case.ts";

const CONNECTION =
  "DefaultEndpointsProtocol=http;AccountName=acme;AccountKey=c3RvcmFnZS1xdWV1ZQ==;QueueEndpoint=http://127.0.0.1:10001/acme";
const POINTER = "/config/connection_string";

const coded = (name: string, status: number, code: string, means: Meaning | null): AnswerCase => ({
  name: `${name} (Azurite 3.35.0, learn.microsoft.com/rest/api/storageservices/queue-service-error-codes)`,
  status,
  headers: { "x-ms-error-code": code },
  judged: refused(means),
});

export const azureStorageQueue: KindCase = {
  kind: "azure_storage_queue",
  config: { connection_string: CONNECTION, queue: "orders" },
  others: [
    {
      connection_string: "QueueEndpoint=http://127.0.0.1:10001/acme;SharedAccessSignature=sv=1&sig=y",
      queue: "orders",
    },
  ],
  refused: [
    {
      name: "a connection string with a part twice",
      config: { connection_string: `${CONNECTION};${CONNECTION}`, queue: "orders" },
      pointer: POINTER,
    },
    {
      name: "an endpoint on a private address",
      config: { connection_string: "QueueEndpoint=http://10.0.0.1/acme;SharedAccessSignature=sv=1" },
      pointer: POINTER,
      code: "unsafe_destination",
    },
    {
      name: "an account on a private address",
      config: { connection_string: "AccountName=acme;AccountKey=a2V5;EndpointSuffix=corp.internal" },
      pointer: POINTER,
      code: "unsafe_destination",
    },
    {
      name: "no connection string",
      config: { connection_string: "https://x.example.com" },
      pointer: POINTER,
    },
    {
      name: "a connection string without its key",
      config: { connection_string: "AccountName=acme" },
      pointer: POINTER,
    },
    { name: "a queue with capitals", config: { queue: "Orders" }, pointer: "/config/queue" },
  ],
  received(request) {
    const text = /^<QueueMessage><MessageText>(.*)<\/MessageText><\/QueueMessage>$/.exec(
      textOf(request),
    )?.[1];
    return { body: Buffer.from(text ?? "", "base64").toString(), headers: null, identity: null };
  },
  answers: [
    { name: "taken", status: 201, judged: DELIVERED },
    { name: "a 200, which is no 201", status: 200, judged: refused("unexpected_answer") },
    coded("a wrong key", 403, "AuthenticationFailed", "signature_refused"),
    coded("a signature without Add", 403, "AuthorizationPermissionMismatch", "permission_missing"),
    coded("no such queue", 404, "QueueNotFound", "queue_not_found"),
    coded("a queue that is disabled", 403, "QueueDisabled", "queue_disabled"),
    coded("more than 64 KiB", 413, "RequestBodyTooLarge", "message_too_large"),
    coded("a busy account", 503, "ServerBusy", null),
  ],
  statusDecides: true,
};
