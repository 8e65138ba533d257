import { activemq } from "./activemq.ts";
import { azureServiceBus } from "./azure-service-bus.ts";
import { azureStorageQueue } from "./azure-storage-queue.ts";
import type { KindCase } from "./case.ts";
import { cloudflareQueues } from "./cloudflare-queues.ts";
import { gcpPubsub } from "./gcp-pubsub.ts";
import { http } from "./http.ts";
import { kafkaRest } from "./kafka-rest.ts";
import { pulsar } from "./pulsar.ts";
import { rabbitmq } from "./rabbitmq.ts";

/** One for each row of the table of kinds, in its order. */
export const CASES: readonly KindCase[] = [
  http,
  gcpPubsub,
  azureServiceBus,
  azureStorageQueue,
  rabbitmq,
  kafkaRest,
  activemq,
  pulsar,
  cloudflareQueues,
];
