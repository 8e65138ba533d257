import { AWS_CONFIG, AWS_REFUSED, assumedRole, sharedAnswers, xmlError } from "./aws.ts";
import { DELIVERED, type KindCase, refused, textOf } from "./case.ts";

const TOPIC_ARN = "arn:aws:sns:eu-central-1:123456789012:orders.fifo";

export const awsSns: KindCase = {
  kind: "aws_sns",
  config: { topic_arn: TOPIC_ARN, group_id: "orders", ...AWS_CONFIG },
  asked: assumedRole,
  refused: [
    ...AWS_REFUSED,
    {
      name: "a topic that is a queue",
      config: { topic_arn: "arn:aws:sqs:eu-central-1:123456789012:orders" },
      pointer: "/config/topic_arn",
    },
  ],
  received(request) {
    const form = new URLSearchParams(textOf(request));
    const attributes = [1, 2, 3, 4].map((at) => {
      const entry = `MessageAttributes.entry.${at}`;
      return [form.get(`${entry}.Name`), form.get(`${entry}.Value.StringValue`)];
    });
    return {
      body: form.get("Message") ?? "",
      headers: Object.fromEntries(attributes),
      identity: form.get("MessageDeduplicationId"),
    };
  },
  answers: [
    {
      name: "a message id",
      status: 200,
      body: '<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult><MessageId>fec8b7c8</MessageId></PublishResult></PublishResponse>',
      judged: DELIVERED,
    },
    {
      name: "an empty message id",
      status: 200,
      body: "<MessageId></MessageId>",
      judged: refused("unexpected_answer"),
    },
    {
      name: "a topic that is not there",
      status: 404,
      body: xmlError("NotFound", "Topic does not exist"),
      judged: refused("refused: NotFound"),
    },
    {
      name: "a message above the topic's own limit",
      status: 400,
      body: xmlError("InvalidParameter", "Invalid parameter: Message too long"),
      judged: refused("refused: InvalidParameter"),
    },
    {
      name: "a permission that is missing, in XML",
      status: 403,
      body: xmlError(
        "AuthorizationError",
        "User: arn:aws:iam::1:user/x is not authorized to perform: SNS:Publish on resource: arn:aws:sns:eu-central-1:123456789012:orders.fifo because",
      ),
      judged: refused(`permission_missing: sns:Publish on ${TOPIC_ARN}`),
    },
    {
      name: "throttling in XML",
      status: 400,
      body: xmlError("Throttling", "Rate exceeded"),
      judged: refused("refused: Throttling", true),
    },
    ...sharedAnswers("sns:Publish", TOPIC_ARN),
  ],
};
