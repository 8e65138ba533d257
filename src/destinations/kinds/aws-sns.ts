import { DELIVERED, readText, rejected, UNEXPECTED } from "../answers.ts";
import { judgeRefusal, readElement } from "../aws/answers.ts";
import { AWS_ERRORS, AWS_HEADERS, AWS_NOTES, awsFields, field, GROUP_FIELD } from "../aws/fields.ts";
import { groupOf, MESSAGE_BYTES_MAX, messageAttributes } from "../aws/messages.ts";
import { awsRequest, serviceUrlOf } from "../aws/request.ts";
import type { DestinationConfig, DestinationKind, Message } from "../destination.ts";
import { textOf } from "../requests.ts";

const urlOf = serviceUrlOf("sns");
const encoder = new TextEncoder();

/** Amazon SNS, standard and FIFO topics: the query protocol of its API, which answers XML. */
export const awsSns: DestinationKind = {
  kind: "aws_sns",
  name: "Amazon SNS",
  about: {
    sentAs:
      "`Publish`. `Message` is the body; the message attributes `webhook-id`, `webhook-timestamp`, `webhook-signature` and `type` are strings, " +
      "so that a subscription's filter policy can look at `type`. To a FIFO topic (its ARN ends in `.fifo`) the deduplication id is the " +
      "`webhook-id`, and the group is the endpoint's id, or `group_id`.",
    deliveredWhen:
      "SNS gives a `MessageId`. Whether a subscription takes the message is between SNS and the subscriber.",
    testedAgainst:
      "moto 5.2.5, also with its signature check switched on, read back from a subscribed queue with the AWS SDK for JavaScript",
    notes:
      "The permission needed is `sns:Publish` on the topic. The body and its attributes together may have 1 MiB where the topic's " +
      "`MaximumMessageSize` says so; unless it does, a topic takes 256 KiB " +
      "([large messages](https://docs.aws.amazon.com/sns/latest/dg/large-message-payloads.html)). A subscribed queue gets the attributes as " +
      "they are, and the exact body, with raw message delivery." +
      AWS_NOTES,
    errors: AWS_ERRORS,
  },
  fields: [
    field("topic_arn", "Topic ARN", "As in arn:aws:sns:eu-central-1:123456789012:orders.", {
      required: true,
      pattern: String.raw`arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,251}(\.fifo)?`,
    }),
    GROUP_FIELD,
    ...awsFields("The service's own address in the region is called unless this is given."),
  ],
  maxBytes: MESSAGE_BYTES_MAX,
  protocolHeaders: AWS_HEADERS,
  request(config, message, now, ask) {
    const call = {
      service: "sns",
      url: urlOf(config),
      headers: [["content-type", "application/x-www-form-urlencoded; charset=utf-8"]] as const,
      body: encoder.encode(formOf(config, message).toString()),
    };
    return awsRequest(call, config, message, now, ask);
  },
  judge(answer, config) {
    if (answer.status !== 200) {
      const resource = textOf(config, "topic_arn") ?? "the topic";
      return judgeRefusal(answer, { signedBy: config, action: "sns:Publish", resource });
    }
    return readElement(answer.body, "MessageId") ? DELIVERED : rejected(UNEXPECTED);
  },
};

function formOf(config: DestinationConfig, message: Message): URLSearchParams {
  const topicArn = textOf(config, "topic_arn") ?? "";
  const form = new URLSearchParams({
    Action: "Publish",
    Version: "2010-03-31",
    TopicArn: topicArn,
    Message: readText(message.body),
    ...groupOf(config, message, topicArn.endsWith(".fifo")),
  });
  for (const [at, [name, value]] of messageAttributes(message).entries()) {
    const entry = `MessageAttributes.entry.${at + 1}`;
    form.append(`${entry}.Name`, name);
    form.append(`${entry}.Value.DataType`, "String");
    form.append(`${entry}.Value.StringValue`, value);
  }
  return form;
}

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Amazon SNS": "Amazon SNS",
  "As in arn:aws:sns:eu-central-1:123456789012:orders.": "Wie arn:aws:sns:eu-central-1:123456789012:orders.",
};
