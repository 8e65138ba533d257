import { readText } from "../answers.ts";
import { judgeJson } from "../aws/answers.ts";
import {
  AWS_ERRORS,
  AWS_HEADERS,
  AWS_NOTES,
  awsFields,
  checkServiceUrl,
  field,
  GROUP_FIELD,
} from "../aws/fields.ts";
import { groupOf, MESSAGE_BYTES_MAX, messageAttributes } from "../aws/messages.ts";
import { awsRequest, jsonHeaders } from "../aws/request.ts";
import { serviceUrlIn } from "../aws/session.ts";
import type { DestinationConfig, DestinationKind, Message } from "../destination.ts";
import { jsonBytes, perConfig, textOf } from "../requests.ts";
import { urlParts } from "../../transport/url-parts.ts";

/** The two characters of Unicode that the API refuses and JSON lets stand unescaped. */
const REFUSED = /[\uFFFE\uFFFF]/;

/**
 * `endpoint` is called where it is given, else the server that the queue's URL names: its root, as the URL's
 * path is for the name.
 */
const urlOf = perConfig((config) => {
  return urlParts(serviceUrlIn(config, "endpoint") ?? new URL("/", textOf(config, "queue_url") ?? ""));
});

/** Amazon SQS, standard and FIFO: the JSON protocol of its API. */
export const awsSqs: DestinationKind = {
  kind: "aws_sqs",
  name: "Amazon SQS",
  about: {
    sentAs:
      "`SendMessage`. `MessageBody` is the body; the message attributes `webhook-id`, `webhook-timestamp`, `webhook-signature` and `type` are " +
      "strings. To a FIFO queue (its URL ends in `.fifo`) the deduplication id is the `webhook-id`, so that a repeat within five minutes " +
      "is no second message, and the group is the endpoint's id, or `group_id`.",
    deliveredWhen: "SQS gives a `MessageId`.",
    testedAgainst:
      "moto 5.2.5, also with its signature check switched on, read back with the AWS SDK for JavaScript",
    notes:
      "Where `endpoint` is given it is called, and `queue_url` only names the queue; it may lead to no private address either. " +
      "The permission needed is `sqs:SendMessage` on the queue, and `kms:GenerateDataKey` and `kms:Decrypt` on the key of an encrypted one. " +
      "The body and its attributes together may have 1 MiB ([quota](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html)); " +
      'a queue\'s own `MaximumMessageSize` may be smaller. A queue is read with `MessageAttributeNames: ["All"]`, or the attributes are left out.' +
      AWS_NOTES,
    errors: AWS_ERRORS,
  },
  fields: [
    field("queue_url", "Queue URL", "As in https://sqs.eu-central-1.amazonaws.com/123456789012/orders.", {
      required: true,
      address: true,
      check: checkServiceUrl,
    }),
    GROUP_FIELD,
    ...awsFields("The server of the queue's URL is called unless this is given."),
  ],
  maxBytes: MESSAGE_BYTES_MAX,
  protocolHeaders: AWS_HEADERS,
  request(config, message, now, ask) {
    const call = {
      service: "sqs",
      url: urlOf(config),
      headers: jsonHeaders("1.0", "AmazonSQS.SendMessage"),
      body: jsonBytes(inputOf(config, message)),
    };
    return awsRequest(call, config, message, now, ask);
  },
  judge: (answer, config) =>
    judgeJson(answer, "MessageId", {
      signedBy: config,
      action: "sqs:SendMessage",
      resource: textOf(config, "queue_url") ?? "the queue",
    }),
};

function inputOf(config: DestinationConfig, message: Message): Record<string, unknown> {
  const queueUrl = textOf(config, "queue_url") ?? "";
  const body = readText(message.body);
  if (REFUSED.test(body)) throw new Error("Amazon SQS takes no text with the characters U+FFFE and U+FFFF.");
  const attributes = messageAttributes(message).map(([name, value]) => [
    name,
    { DataType: "String", StringValue: value },
  ]);
  return {
    QueueUrl: queueUrl,
    MessageBody: body,
    MessageAttributes: Object.fromEntries(attributes),
    ...groupOf(config, message, queueUrl.endsWith(".fifo")),
  };
}

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Amazon SQS": "Amazon SQS",
  "Queue URL": "URL der Warteschlange",
  "As in https://sqs.eu-central-1.amazonaws.com/123456789012/orders.":
    "Wie https://sqs.eu-central-1.amazonaws.com/123456789012/orders.",
  "The server of the queue's URL is called unless this is given. Give it for a compatible server, or a VPC endpoint.":
    "Ohne Angabe wird der Server aus der URL der Warteschlange gerufen. Für kompatible Server oder einen VPC-Endpunkt.",
};
