/** What is read out of an answer of AWS is never the part of a name that was cut off with the answer. */
import { expect, test } from "bun:test";
import { refusalOf } from "../../../src/destinations/aws/answers.ts";

const own = { signedBy: null, action: "sqs:SendMessage", resource: "arn:aws:sqs:eu-central-1:1:q" };
const named = "is not authorized to perform: kms:Decrypt on resource: arn:aws:kms:eu-central-1:1:key/2";

test.each([
  [`${named} because`, "kms:Decrypt on arn:aws:kms:eu-central-1:1:key/2"],
  [`${named}</Message>`, "kms:Decrypt on arn:aws:kms:eu-central-1:1:key/2"],
  [named, `kms:Decrypt on ${own.resource}`],
  ["is not authorized to perform: kms:Dec", `sqs:SendMessage on ${own.resource}`],
])("%p", (text, detail) => {
  expect(refusalOf("AccessDenied", text, own).error?.detail).toBe(detail);
});
