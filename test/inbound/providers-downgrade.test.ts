/** A weaker proof of a provider beside its better one: and not read at all where the source says so. */
import { describe, expect, test } from "bun:test";
import type { InboundRequest } from "../../src/inbound/provider.ts";
import { jsonRequest, materialOf, withHeader, withoutHeader } from "./kit.ts";
import { genuine, materialFor, outcome, receive } from "./outcome.ts";
import { macOf } from "./recompute.ts";

describe("Segment", () => {
  const first = '{"type":"track","event":"A","messageId":"1"}';
  const spaced = '{ "type": "track", "event": "A", "messageId": "1" }';
  const signature = { "x-signature": macOf("sha1", "s", "hex", first) };
  const refusing = materialOf(["s"], { config: { batches: "refused" } });
  const taking = materialOf(["s"], { config: { batches: "taken" } });

  test("refuses a batch of several where the source refuses batches", async () => {
    for (const body of [`[${first},{"messageId":"forged"}]`, `[${first},1]`, "[]"])
      expect(await outcome("segment", jsonRequest(body, signature), refusing)).toBe("malformed");
    expect(await outcome("segment", jsonRequest("[]", signature), taking)).toBe("malformed");
    for (const body of [first, `[${first}]`])
      expect(await receive("segment", jsonRequest(body, signature), refusing)).toMatchObject({
        deliveryId: expect.stringMatching(/^1\|[0-9a-f]{64}$/),
      });
  });

  test("an event in which a name stands twice proves nothing: a reader may take another than was signed", async () => {
    const twice = '{"type":"track","event":"B","event":"A","messageId":"1"}';
    for (const material of [refusing, taking])
      expect(await outcome("segment", jsonRequest(`[${twice}]`, signature), material)).toBe("bad_signature");
  });

  test("where it takes them, the first event is signed, as it stands or written anew, and that once", async () => {
    for (const element of [first, spaced]) {
      const request = jsonRequest(`[${element},{"messageId":"2"}]`, signature);
      expect(await receive("segment", request, taking)).toMatchObject({
        type: "segment.track.A",
        deliveryId: expect.stringMatching(/^1,2\|[0-9a-f]{64}$/),
        proof: { id: signature["x-signature"], keptSeconds: 2_592_000 },
      });
    }
  });
});

describe("HubSpot", () => {
  const without = (request: InboundRequest, ...names: string[]) =>
    names.reduce((rest, name) => withoutHeader(rest, name), request);

  test("v1 beside a wrong v3, or where v3 was taken out, does not save the request", async () => {
    const request = await genuine("hubspot");
    const wrong = withHeader(request, "x-hubspot-signature-v3", "d3Jvbmc=");
    const cut = without(request, "x-hubspot-signature-v3");
    const bare = without(cut, "x-hubspot-request-timestamp");
    const material = materialFor("hubspot");
    const strict = { ...material, config: { signature_versions: "v3" } };
    const outcomes = (each: typeof material) =>
      Promise.all([wrong, cut, bare].map((one) => outcome("hubspot", one, each)));
    expect(await outcomes(material)).toEqual(["bad_signature", "missing_header", "event"]);
    expect(await outcomes(strict)).toEqual(["bad_signature", "missing_header", "missing_header"]);
  });
});
