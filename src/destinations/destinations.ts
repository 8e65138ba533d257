import type { Endpoint } from "../core/model.ts";
import type { DestinationKind, KindRow, PolledKind } from "./destination.ts";
import { activemq } from "./kinds/activemq.ts";
import { awsEventbridge } from "./kinds/aws-eventbridge.ts";
import { awsKinesis } from "./kinds/aws-kinesis.ts";
import { awsSns } from "./kinds/aws-sns.ts";
import { awsSqs } from "./kinds/aws-sqs.ts";
import { azureServiceBus } from "./kinds/azure-service-bus.ts";
import { azureStorageQueue } from "./kinds/azure-storage-queue.ts";
import { cloudflareQueues } from "./kinds/cloudflare-queues.ts";
import { gcpPubsub } from "./kinds/gcp-pubsub.ts";
import { googleCloudStorage } from "./kinds/google-cloud-storage.ts";
import { http } from "./kinds/http.ts";
import { kafkaRest } from "./kinds/kafka-rest.ts";
import { poll } from "./kinds/poll.ts";
import { pulsar } from "./kinds/pulsar.ts";
import { rabbitmq } from "./kinds/rabbitmq.ts";
import { s3 } from "./kinds/s3.ts";

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

/** True where nothing may reach the endpoint before what came earlier. */
export function keepsOrder({ ordering, kind }: Pick<Endpoint, "ordering" | "kind">): boolean {
  return ordering === "fifo" || isPolled(kind);
}

export function listKinds(): readonly KindRow[] {
  return KINDS;
}
