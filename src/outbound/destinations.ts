import type { DestinationKind, KindRow, PolledKind } from "./destination.ts";
import { activemq } from "./destinations/activemq.ts";
import { awsEventbridge } from "./destinations/aws-eventbridge.ts";
import { awsKinesis } from "./destinations/aws-kinesis.ts";
import { awsSns } from "./destinations/aws-sns.ts";
import { awsSqs } from "./destinations/aws-sqs.ts";
import { azureServiceBus } from "./destinations/azure-service-bus.ts";
import { azureStorageQueue } from "./destinations/azure-storage-queue.ts";
import { cloudflareQueues } from "./destinations/cloudflare-queues.ts";
import { gcpPubsub } from "./destinations/gcp-pubsub.ts";
import { googleCloudStorage } from "./destinations/google-cloud-storage.ts";
import { http } from "./destinations/http.ts";
import { kafkaRest } from "./destinations/kafka-rest.ts";
import { poll } from "./destinations/poll.ts";
import { pulsar } from "./destinations/pulsar.ts";
import { rabbitmq } from "./destinations/rabbitmq.ts";
import { s3 } from "./destinations/s3.ts";

/** THE table of destination kinds. A new kind is one file and one line here. */
const KINDS: readonly (DestinationKind | PolledKind)[] = [
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
  poll,
];

const byKind = new Map(KINDS.map((kind) => [kind.kind, kind]));

export function findKind(kind: string): DestinationKind | PolledKind | undefined {
  return byKind.get(kind);
}

/** True where nothing is pushed: deliveries wait until they are fetched, and expire where they never are. */
export function isPolled(kind: string): boolean {
  return kind === poll.kind;
}

export function listKinds(): readonly KindRow[] {
  return KINDS;
}
