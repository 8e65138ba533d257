import { AWS_CONFIG, AWS_REFUSED, assumedRole, jsonError, sharedAnswers } from "./aws.ts";
import { DELIVERED, type KindCase, refused, textOf } from "./case.ts";

interface Input {
  QueueUrl: string;
  MessageBody: string;
  MessageAttributes: Record<string, { DataType: string; StringValue: string }>;
  MessageDeduplicationId: string;
}

const QUEUE_URL = "http://127.0.0.1:9/123456789012/orders.fifo";

export const awsSqs: KindCase = {
  kind: "aws_sqs",
  config: { queue_url: QUEUE_URL, group_id: "orders", ...AWS_CONFIG },
  asked: assumedRole,
  refused: [
    ...AWS_REFUSED,
    { name: "a queue by its name alone", config: { queue_url: "orders" }, pointer: "/config/queue_url" },
    {
      name: "a queue with a query",
      config: { queue_url: `${QUEUE_URL}?0&1` },
      pointer: "/config/queue_url",
    },
    { name: "a group with a space", config: { group_id: "a b" }, pointer: "/config/group_id" },
  ],
  received(request) {
    const input = JSON.parse(textOf(request)) as Input;
    const values = Object.entries(input.MessageAttributes).map(([name, { StringValue }]) => [
      name,
      StringValue,
    ]);
    return {
      body: input.MessageBody,
      headers: Object.fromEntries(values),
      identity: input.MessageDeduplicationId,
    };
  },
  answers: [
    {
      name: "a message id",
      status: 200,
      body: '{"MD5OfMessageBody":"49f68a5c8493ec2c0bf489821c21fc3b","MessageId":"b68d6d53-a8e5-4f01-b3d6-02a2d7f8645f"}',
      judged: DELIVERED,
    },
    {
      name: "an empty message id",
      status: 200,
      body: '{"MessageId":""}',
      judged: refused("unexpected_answer"),
    },
    { name: "a page", status: 200, body: "<html>Welcome</html>", judged: refused("unexpected_answer") },
    {
      name: "a queue that is not there",
      status: 400,
      headers: { "x-amzn-query-error": "AWS.SimpleQueueService.NonExistentQueue;Sender" },
      body: jsonError("com.amazonaws.sqs#QueueDoesNotExist", "The specified queue does not exist."),
      judged: refused("refused: QueueDoesNotExist"),
    },
    {
      name: "too much in flight",
      status: 403,
      body: jsonError("com.amazonaws.sqs#OverLimit", "Too many messages"),
      judged: refused("refused: OverLimit", true),
    },
    {
      name: "a request throttled",
      status: 403,
      body: jsonError("com.amazonaws.sqs#RequestThrottled", "Request is throttled."),
      judged: refused("refused: RequestThrottled", true),
    },
    ...sharedAnswers("sqs:SendMessage", QUEUE_URL),
  ],
};
