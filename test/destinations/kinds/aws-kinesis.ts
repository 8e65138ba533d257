import { AWS_CONFIG, AWS_REFUSED, assumedRole, jsonError, sharedAnswers } from "./aws.ts";
import { DELIVERED, type KindCase, refused, textOf } from "./case.ts";

export const awsKinesis: KindCase = {
  kind: "aws_kinesis",
  config: { stream_name: "orders", partition_key: "all orders", ...AWS_CONFIG },
  asked: assumedRole,
  refused: [
    ...AWS_REFUSED,
    {
      name: "a stream by its ARN",
      config: { stream_name: "arn:aws:kinesis:x" },
      pointer: "/config/stream_name",
    },
  ],
  received(request) {
    const { Data } = JSON.parse(textOf(request)) as { Data: string };
    return { body: Buffer.from(Data, "base64").toString(), headers: null, identity: null };
  },
  answers: [
    {
      name: "a sequence number",
      status: 200,
      body: '{"ShardId":"shardId-000000000000","SequenceNumber":"4954"}',
      judged: DELIVERED,
    },
    {
      name: "a shard without a number",
      status: 200,
      body: '{"ShardId":"shardId-0"}',
      judged: refused("unexpected_answer"),
    },
    {
      name: "a shard that takes no more",
      status: 400,
      body: jsonError("ProvisionedThroughputExceededException", "Rate exceeded for shard"),
      judged: refused("refused: ProvisionedThroughputExceededException", true),
    },
    {
      name: "a stream that is not there",
      status: 400,
      body: jsonError("ResourceNotFoundException", "Stream orders under account 123456789012 not found."),
      judged: refused("refused: ResourceNotFoundException"),
    },
    {
      name: "a key service that throttles",
      status: 400,
      body: jsonError("KMSThrottlingException", "Rate exceeded"),
      judged: refused("refused: KMSThrottlingException", true),
    },
    ...sharedAnswers("kinesis:PutRecord", "stream/orders"),
  ],
};
