import { TRIAL_TYPE } from "../core/event-type.ts";
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

/** The catalog of event types. */
interface Catalog {
  find(projectId: number, name: string): unknown;
}

/**
 * True where a test of this type is only for who may store credentials, and only once: by the endpoint's
 * settings of now the type decides where its message goes, and the project has not named that type.
 */
export function isStrayTest(
  eventTypes: Catalog,
  { kind, config, projectId }: Pick<Endpoint, "kind" | "config" | "projectId">,
  type: string,
): boolean {
  if (type === TRIAL_TYPE || !findKind(kind)?.routesByType?.(config)) return false;
  return eventTypes.find(projectId, type) === undefined;
}

/** What is said where such a test is refused. */
export const STRAY_TEST = `The type decides where this destination puts the message: a portal link tests it with ${TRIAL_TYPE} or a type of the catalog, and a test of any other is not sent again.`;

export function listKinds(): readonly KindRow[] {
  return KINDS;
}
