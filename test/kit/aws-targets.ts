/**
 * The AWS kinds as a customer has them: how the destination is made, and what the official SDK reads of it.
 */
import {
  CreateEventBusCommand,
  EventBridgeClient,
  PutRuleCommand,
  PutTargetsCommand,
} from "@aws-sdk/client-eventbridge";
import {
  CreateStreamCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  KinesisClient,
} from "@aws-sdk/client-kinesis";
import { CreateBucketCommand, GetObjectCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { CreateTopicCommand, SNSClient, SubscribeCommand } from "@aws-sdk/client-sns";
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";

export interface Keys {
  accessKeyId: string;
  secretAccessKey: string;
}

/** What a consumer reads. */
export interface Arrived {
  body: string;
  /** The three headers and the type; null where they cannot travel. */
  headers: Record<string, string> | null;
  /** Group, key, detail type… as the service has them. */
  more: Record<string, unknown>;
}

export interface AwsTarget {
  kind: string;
  /** The part of `config` that names the destination. */
  config(url: string, name: string): Record<string, string>;
  make(name: string): Promise<void>;
  read(name: string): Promise<Arrived[]>;
  /** What a refusal says of one that is not there. */
  missingCode: string;
  action: string;
}

const ACCOUNT = "123456789012";
const REGION = "us-east-1";

export function targetsOf(url: string, credentials: Keys): Record<string, AwsTarget> {
  const client = { endpoint: url, region: REGION, credentials, maxAttempts: 1 };
  const sqs = new SQSClient(client);
  const sns = new SNSClient(client);
  const events = new EventBridgeClient(client);
  // Its SDK speaks HTTP/2 unless it is given what the others speak by; moto does not.
  const kinesis = new KinesisClient({ ...client, requestHandler: sqs.config.requestHandler });
  const queueUrl = (name: string) => `${url}/${ACCOUNT}/${name}`;
  const queueArn = (name: string) => `arn:aws:sqs:${REGION}:${ACCOUNT}:${name}`;

  const makeQueue = async (name: string) => {
    const Attributes = name.endsWith(".fifo") ? { FifoQueue: "true" } : {};
    await sqs.send(new CreateQueueCommand({ QueueName: name, Attributes }));
  };

  /** Takes what is in a queue. */
  const readQueue = async (name: string): Promise<Arrived[]> => {
    const arrived: Arrived[] = [];
    for (;;) {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({
          QueueUrl: queueUrl(name),
          MessageAttributeNames: ["All"],
          MessageSystemAttributeNames: ["All"],
          MaxNumberOfMessages: 10,
        }),
      );
      if (Messages.length === 0) return arrived;
      for (const { Body = "", MessageAttributes = {}, Attributes = {}, ReceiptHandle } of Messages) {
        const headers = Object.entries(MessageAttributes).map(([key, { StringValue = "" }]) => [
          key,
          StringValue,
        ]);
        arrived.push({ body: Body, headers: Object.fromEntries(headers), more: Attributes });
        await sqs.send(new DeleteMessageCommand({ QueueUrl: queueUrl(name), ReceiptHandle }));
      }
    }
  };

  return {
    aws_sqs: {
      kind: "aws_sqs",
      config: (base, name) => ({ queue_url: `${base}/${ACCOUNT}/${name}` }),
      make: makeQueue,
      read: readQueue,
      missingCode: "QueueDoesNotExist",
      action: "sqs:SendMessage",
    },
    aws_sns: {
      kind: "aws_sns",
      config: (base, name) => ({ topic_arn: `arn:aws:sns:${REGION}:${ACCOUNT}:${name}`, endpoint: base }),
      async make(name) {
        const isFifo = name.endsWith(".fifo");
        const Attributes = isFifo ? { FifoTopic: "true" } : {};
        await makeQueue(name);
        const { TopicArn } = await sns.send(new CreateTopicCommand({ Name: name, Attributes }));
        await sns.send(
          new SubscribeCommand({
            TopicArn,
            Protocol: "sqs",
            Endpoint: queueArn(name),
            Attributes: { RawMessageDelivery: "true" },
          }),
        );
      },
      read: readQueue,
      missingCode: "NotFound",
      action: "sns:Publish",
    },
    aws_eventbridge: {
      kind: "aws_eventbridge",
      config: (base, name) => ({ event_bus_name: name, endpoint: base }),
      async make(name) {
        await makeQueue(name);
        await events.send(new CreateEventBusCommand({ Name: name }));
        const rule = { Name: `all-${name}`, EventBusName: name, EventPattern: '{"source":["sealpost"]}' };
        await events.send(new PutRuleCommand(rule));
        await events.send(
          new PutTargetsCommand({
            Rule: rule.Name,
            EventBusName: name,
            Targets: [{ Id: "queue", Arn: queueArn(name) }],
          }),
        );
      },
      async read(name) {
        return (await readQueue(name)).map(({ body }) => {
          const { detail, ...more } = JSON.parse(body) as Record<string, unknown>;
          return { body: JSON.stringify(detail), headers: null, more };
        });
      },
      missingCode: "ResourceNotFoundException",
      action: "events:PutEvents",
    },
    aws_kinesis: {
      kind: "aws_kinesis",
      config: (base, name) => ({ stream_name: name, endpoint: base }),
      async make(name) {
        await kinesis.send(new CreateStreamCommand({ StreamName: name, ShardCount: 1 }));
      },
      async read(name) {
        const { ShardIterator } = await kinesis.send(
          new GetShardIteratorCommand({
            StreamName: name,
            ShardId: "shardId-000000000000",
            ShardIteratorType: "TRIM_HORIZON",
          }),
        );
        const { Records = [] } = await kinesis.send(new GetRecordsCommand({ ShardIterator }));
        return Records.map(({ Data, PartitionKey }) => {
          const body = Buffer.from(Data ?? []).toString();
          return { body, headers: null, more: { PartitionKey } };
        });
      },
      missingCode: "ResourceNotFoundException",
      action: "kinesis:PutRecord",
    },
    s3: s3Target(url, credentials),
  };
}

export function s3Target(url: string, credentials: Keys): AwsTarget {
  const s3 = new S3Client({
    endpoint: url,
    region: REGION,
    credentials,
    maxAttempts: 1,
    forcePathStyle: true,
  });
  return {
    kind: "s3",
    config: (base, name) => ({ bucket: name, endpoint: base }),
    async make(name) {
      await s3.send(new CreateBucketCommand({ Bucket: name }));
    },
    async read(name) {
      const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: name }));
      return Promise.all(
        Contents.map(async ({ Key = "" }) => {
          const {
            Body,
            Metadata = {},
            ContentType,
          } = await s3.send(new GetObjectCommand({ Bucket: name, Key }));
          const body = (await Body?.transformToString()) ?? "";
          return { body, headers: Metadata, more: { Key, ContentType } };
        }),
      );
    },
    missingCode: "NoSuchBucket",
    action: "s3:PutObject",
  };
}
