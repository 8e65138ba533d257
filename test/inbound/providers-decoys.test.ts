/**
 * What was verified is what is remembered and what names the event: fields of the proof that stand in the
 * request once more, where another reader could look for them, make no other event of it.
 */
import { describe, expect, test } from "bun:test";
import type { InboundRequest } from "../../src/inbound/provider.ts";
import { PROVIDER_ROWS } from "../../src/inbound/providers.ts";
import { CASES } from "./cases.ts";
import { decoyed } from "./decoys.ts";
import { jsonRequest, keysOf, requestOf, textOf } from "./kit.ts";
import { genuine, materialFor, receive } from "./outcome.ts";

/** The fields by which each row is proven, or known, as they stand in its body. */
const PROOF_FIELDS: Readonly<Record<string, readonly string[]>> = {
  adyen: [
    ...["pspReference", "originalReference", "merchantAccountCode", "merchantReference", "amount", "value"],
    ...["currency", "eventCode", "success", "additionalData", "hmacSignature"],
  ],
  aws_sns: [
    ...["Signature", "SignatureVersion", "SigningCertURL", "Message", "MessageId", "Subject", "Timestamp"],
    ...["TopicArn", "Type"],
  ],
  braintree: ["bt_signature", "bt_payload"],
  dropbox_sign: ["json", "event", "event_time", "event_type", "event_hash"],
  mailgun: ["timestamp", "token", "signature", "parent-signature"],
  mandrill: ["mandrill_events", "_id", "event", "ts"],
  mercadopago: ["data.id", "ts", "v1", "x-signature"],
  microsoft_graph: ["clientState"],
  paypal: ["id", "transmission_id"],
  plivo: ["MessageUUID", "Status", "CallUUID", "Event"],
  segment: ["messageId", "type", "signature"],
  twilio: ["MessageSid", "MessageStatus", "SmsStatus", "CallSid", "CallStatus"],
};

const ROWS = PROVIDER_ROWS.filter(({ proofs, proofTakenOnce }) => proofs ?? proofTakenOnce);

test("every row whose body holds its proof, or whose proof is taken once, is walked", () => {
  expect(ROWS.map(({ key }) => key).sort()).toEqual(Object.keys(PROOF_FIELDS).sort());
});

/** Mailgun's proof also stands at the top, and in forms. */
async function genuineOnes(key: string): Promise<InboundRequest[]> {
  const request = await genuine(key);
  if (key !== "mailgun") return [request];
  const { signature } = JSON.parse(textOf(request)) as { signature: Record<string, string> };
  const fields = { ...signature, event: "opened" };
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const form = requestOf({ body: new URLSearchParams(fields).toString(), headers });
  return [request, jsonRequest(JSON.stringify(fields), {}), form];
}

async function knownBy(key: string, request: InboundRequest) {
  const [document = null] = Object.values(CASES[key]?.keyDocuments ?? {});
  const reception = await receive(key, request, materialFor(key), keysOf(document));
  if (reception.kind !== "event") return reception.kind;
  const { proof, deliveryId } = reception;
  // What a body holds beside is another body, and no other event.
  return JSON.stringify({ proof: proof && { ...proof, content: "" }, deliveryId });
}

describe("a decoy of the proof is refused, or changes nothing of what the event is known by", () => {
  test.each(ROWS.map((row) => [row.key, row] as const))("%s", async (key, { proofTakenOnce }) => {
    const names = PROOF_FIELDS[key] ?? [];
    const others = new Map<string, string>();
    for (const request of await genuineOnes(key)) {
      const known = await knownBy(key, request);
      expect(known).toStartWith(proofTakenOnce ? '{"proof":{' : '{"proof":null');
      const decoys = await decoyed(request, names);
      expect(decoys.length).toBeGreaterThan(10);
      for (const decoy of decoys) {
        const other = await knownBy(key, decoy);
        if (other !== known && other !== "refused") others.set(other, textOf(decoy));
      }
    }
    expect([...others]).toEqual([]);
  });
});
