import { activemq } from "./activemq.ts";
import { awsEventbridge } from "./aws-eventbridge.ts";
import { awsKinesis } from "./aws-kinesis.ts";
import { awsSns } from "./aws-sns.ts";
import { awsSqs } from "./aws-sqs.ts";
import { azureServiceBus } from "./azure-service-bus.ts";
import { azureStorageQueue } from "./azure-storage-queue.ts";
import type { KindCase } from "./case.ts";
import { cloudflareQueues } from "./cloudflare-queues.ts";
import { gcpPubsub } from "./gcp-pubsub.ts";
import { googleCloudStorage } from "./google-cloud-storage.ts";
import { http } from "./http.ts";
import { kafkaRest } from "./kafka-rest.ts";
import { pulsar } from "./pulsar.ts";
import { rabbitmq } from "./rabbitmq.ts";
import { s3 } from "./s3.ts";

/** One for each row of the table of kinds, in its order. */
export const CASES: readonly KindCase[] = [
  http,
  awsSqs,
  awsSns,
  awsEventbridge,
  awsKinesis,
  s3,
  gcpPubsub,
  googleCloudStorage,
  azureServiceBus,
  azureStorageQueue,
  rabbitmq,
  kafkaRest,
  activemq,
  pulsar,
  cloudflareQueues,
];
