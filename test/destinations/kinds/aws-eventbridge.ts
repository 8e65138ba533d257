import { AWS_CONFIG, AWS_REFUSED, assumedRole, jsonError, sharedAnswers } from "./aws.ts";
import { DELIVERED, type KindCase, refused, textOf } from "./case.ts";

const failed = (code: string, message: string) =>
  JSON.stringify({ FailedEntryCount: 1, Entries: [{ ErrorCode: code, ErrorMessage: message }] });

export const awsEventbridge: KindCase = {
  kind: "aws_eventbridge",
  config: { event_bus_name: "orders", source: "com.example.shop", detail_type: "Shop event", ...AWS_CONFIG },
  asked: assumedRole,
  refused: [
    ...AWS_REFUSED,
    { name: "a source that AWS keeps for itself", config: { source: "aws.ec2" }, pointer: "/config/source" },
    { name: "a bus with a space", config: { event_bus_name: "my bus" }, pointer: "/config/event_bus_name" },
  ],
  received(request) {
    const { Entries } = JSON.parse(textOf(request)) as { Entries: { Detail: string }[] };
    return { body: Entries[0]?.Detail ?? "", headers: null, identity: null };
  },
  answers: [
    {
      name: "no entry failed",
      status: 200,
      body: '{"FailedEntryCount":0,"Entries":[{"EventId":"ac7c4f37-c238-4bc9-85da-8ec70b3fa01a"}]}',
      judged: DELIVERED,
    },
    {
      name: "no entry at all",
      status: 200,
      body: '{"FailedEntryCount":0,"Entries":[]}',
      judged: refused("unexpected_answer"),
    },
    {
      name: "an entry that failed inside a 200",
      status: 200,
      body: failed("MalformedDetail", "Detail is malformed."),
      judged: refused("refused: MalformedDetail"),
    },
    {
      name: "an entry that was throttled inside a 200",
      status: 200,
      body: failed("ThrottlingException", "Rate exceeded for account"),
      judged: refused("refused: ThrottlingException", true),
    },
    {
      name: "an entry without permission inside a 200",
      status: 200,
      body: failed("AccessDeniedException", "no resource-based policy allows it"),
      judged: refused("permission_missing: events:PutEvents on orders"),
    },
    {
      name: "a failed entry without a code",
      status: 200,
      body: '{"FailedEntryCount":1}',
      judged: refused("unexpected_answer"),
    },
    {
      name: "a bus that is not there",
      status: 400,
      body: jsonError("ResourceNotFoundException", "Event bus orders does not exist."),
      judged: refused("refused: ResourceNotFoundException"),
    },
    ...sharedAnswers("events:PutEvents", "orders"),
  ],
};
