import { DELIVERED, firstOf, readObject, readText, rejected, UNEXPECTED } from "../answers.ts";
import { judgeRefusal, readCode, refusalOf } from "../aws/answers.ts";
import { AWS_ERRORS, AWS_HEADERS, AWS_NOTES, awsFields, field } from "../aws/fields.ts";
import { awsRequest, jsonHeaders, serviceUrlOf } from "../aws/request.ts";
import type { DestinationConfig, DestinationKind, Message } from "../destination.ts";
import { jsonBytes, textOf } from "../requests.ts";

const MAX_BYTES = 1_048_576;
const SOURCE = "sealpost";

const urlOf = serviceUrlOf("events");

/** Amazon EventBridge: one entry a message. */
export const awsEventbridge: DestinationKind = {
  kind: "aws_eventbridge",
  name: "Amazon EventBridge",
  about: {
    sentAs:
      "`PutEvents` with one entry: `Detail` is the body, `DetailType` the event's type, `Source` is `sealpost` unless said otherwise, and `Time` " +
      "is when the delivery was made, the same on every attempt.",
    deliveredWhen:
      "`FailedEntryCount` is 0. An entry that failed inside a 200 is `rejected` with the entry's own code.",
    testedAgainst:
      "moto 5.2.5, also with its signature check switched on, read back by a rule with a queue behind it",
    notes:
      "EventBridge has no place for headers, and reads the body and writes it anew: what arrives is not signed, and carries no `webhook-id`. Let " +
      "IAM say who may put events on the bus, and let consumers tell repeats by an id of your own in `data`. The permission needed is " +
      "`events:PutEvents` on the bus. An entry may have 1 MiB, with `Source` and `DetailType` " +
      "([announcement](https://aws.amazon.com/blogs/compute/more-room-to-build-serverless-services-now-support-payloads-up-to-1-mb)). An event that " +
      "no rule of the bus matches is delivered all the same: the bus took it." +
      AWS_NOTES,
    errors: AWS_ERRORS,
  },
  fields: [
    field("event_bus_name", "Event bus", "Its name, such as default, or its ARN.", {
      required: true,
      pattern: String.raw`(arn:aws[a-z-]*:events:[a-z0-9-]+:[0-9]{12}:event-bus/)?[A-Za-z0-9_./-]{1,256}`,
    }),
    field("source", "Source", "What rules see as the event's source; sealpost unless given.", {
      pattern: String.raw`(?!aws\.)[^\x00-\x1f\x7f]{1,256}`,
    }),
    field("detail_type", "Detail type", "The event's type unless given.", {
      pattern: String.raw`[^\x00-\x1f\x7f]{1,128}`,
    }),
    ...awsFields("The service's own address in the region is called unless this is given."),
  ],
  maxBytes: MAX_BYTES,
  routesByType: (config) => textOf(config, "detail_type") === null,
  protocolHeaders: AWS_HEADERS,
  request(config, message, now, ask) {
    const call = {
      service: "events",
      url: urlOf(config),
      headers: jsonHeaders("1.1", "AWSEvents.PutEvents"),
      body: jsonBytes({ Entries: [entryOf(config, message)] }),
    };
    return awsRequest(call, config, message, now, ask);
  },
  judge(answer, config) {
    const permission = {
      signedBy: config,
      action: "events:PutEvents",
      resource: textOf(config, "event_bus_name") ?? "the event bus",
    };
    if (answer.status !== 200) return judgeRefusal(answer, permission);
    const { FailedEntryCount: failed, Entries: entries } = readObject(answer.body);
    const { EventId: id, ErrorCode: code, ErrorMessage: text } = firstOf(entries);
    if (failed === 0 && typeof id === "string") return DELIVERED;
    if (typeof failed !== "number" || failed === 0) return rejected(UNEXPECTED);
    const named = readCode(code);
    return named === null ? rejected(UNEXPECTED) : refusalOf(named, String(text), permission);
  },
};

function entryOf(config: DestinationConfig, message: Message): Record<string, unknown> {
  const source = textOf(config, "source") ?? SOURCE;
  const detailType = textOf(config, "detail_type") ?? message.type;
  // As EventBridge counts an entry: 14 bytes for the time.
  const bytes = message.body.length + Buffer.byteLength(source) + Buffer.byteLength(detailType) + 14;
  if (bytes > MAX_BYTES)
    throw new Error(`The entry has ${bytes} bytes; EventBridge takes at most ${MAX_BYTES}.`);
  return {
    EventBusName: textOf(config, "event_bus_name"),
    Source: source,
    DetailType: detailType,
    Detail: readText(message.body),
    Time: Math.floor(message.createdAt / 1000),
  };
}

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Amazon EventBridge": "Amazon EventBridge",
  "Event bus": "Ereignisbus",
  "Its name, such as default, or its ARN.": "Sein Name, wie default, oder seine ARN.",
  Source: "Quelle",
  "What rules see as the event's source; sealpost unless given.":
    "Was Regeln als Quelle des Ereignisses sehen; ohne Angabe sealpost.",
  "Detail type": "Detailtyp",
};
