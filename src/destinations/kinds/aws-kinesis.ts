import { judgeJson } from "../aws/answers.ts";
import { AWS_ERRORS, AWS_HEADERS, AWS_NOTES, awsFields, field } from "../aws/fields.ts";
import { awsRequest, jsonHeaders, serviceUrlOf } from "../aws/request.ts";
import type { DestinationKind } from "../destination.ts";
import { base64, jsonBytes, textOf } from "../requests.ts";

const urlOf = serviceUrlOf("kinesis");

/** Amazon Kinesis Data Streams: one record a message. */
export const awsKinesis: DestinationKind = {
  kind: "aws_kinesis",
  name: "Amazon Kinesis Data Streams",
  about: {
    sentAs:
      "`PutRecord`. `Data` is the body's exact bytes; the partition key is the `webhook-id`, so that records spread over the shards.",
    deliveredWhen: "Kinesis gives a `SequenceNumber`.",
    testedAgainst:
      "moto 5.2.5, also with its signature check switched on, read back with the AWS SDK for JavaScript",
    notes:
      "A record has no attributes: the signature does not travel. Let IAM say who may write to the stream, and take the partition key, which is the " +
      "`webhook-id` unless you give another, to tell repeats: Kinesis keeps both. The permission needed is `kinesis:PutRecord` on the stream, and " +
      "`kms:GenerateDataKey` on the key of an encrypted one. A record may have 10 MiB where the stream's `MaxRecordSize` says so; unless it does, " +
      "1 MiB with the partition key ([quotas](https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html))." +
      AWS_NOTES,
    errors: AWS_ERRORS,
  },
  fields: [
    field("stream_name", "Stream", "The name of the data stream.", {
      required: true,
      pattern: "[A-Za-z0-9_.-]{1,128}",
    }),
    field(
      "partition_key",
      "Partition key",
      "One for all messages, which keeps them in one shard and in order; the webhook-id unless given.",
      {
        pattern: String.raw`[^\x00-\x1f\x7f]{1,256}`,
      },
    ),
    ...awsFields("The service's own address in the region is called unless this is given."),
  ],
  maxBytes: 10_485_760,
  protocolHeaders: AWS_HEADERS,
  request(config, message, now, ask) {
    const call = {
      service: "kinesis",
      url: urlOf(config),
      headers: jsonHeaders("1.1", "Kinesis_20131202.PutRecord"),
      body: jsonBytes({
        StreamName: textOf(config, "stream_name"),
        PartitionKey: textOf(config, "partition_key") ?? message.id,
        Data: base64(message.body),
      }),
    };
    return awsRequest(call, config, message, now, ask);
  },
  judge: (answer, config) =>
    judgeJson(answer, "SequenceNumber", {
      signedBy: config,
      action: "kinesis:PutRecord",
      resource: `stream/${textOf(config, "stream_name") ?? ""}`,
    }),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Amazon Kinesis Data Streams": "Amazon Kinesis Data Streams",
  Stream: "Datenstrom",
  "The name of the data stream.": "Der Name des Datenstroms.",
  "Partition key": "Partitionsschlüssel",
  "One for all messages, which keeps them in one shard and in order; the webhook-id unless given.":
    "Einer für alle Nachrichten hält sie in einem Shard und in der Reihenfolge; ohne Angabe die webhook-id.",
};
