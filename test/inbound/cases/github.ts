import { sign, verify } from "@octokit/webhooks-methods";
import type { ProviderCase } from "../case.ts";
import { jsonRequest, textOf } from "../kit.ts";

const BODY = JSON.stringify({
  action: "opened",
  issue: { number: 1, title: "Zoë's \uFFFD\u001b[0m" },
  sender: { id: 1 },
});

async function signed(secret: string, event: string, body: string) {
  return jsonRequest(body, {
    "x-github-event": event,
    "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
    "x-hub-signature-256": await sign(secret, body),
  });
}

export const GITHUB_CASES: Readonly<Record<string, ProviderCase>> = {
  github: {
    secrets: ["It's a Secret to Everybody", "another secret"],
    isSignedBySdk: true,
    sign: (secret) => signed(secret, "issues", BODY),
    accepts: (request, secret) =>
      verify(secret, textOf(request), request.headers.get("x-hub-signature-256") ?? ""),
    requiredHeaders: ["x-hub-signature-256"],
    expected: { type: "github.issues.opened", deliveryId: "72d3162e-cc78-11e3-81ab-4c9367dc0958" },
    handshakes: [
      {
        name: "ping",
        request: (secret) => signed(secret, "ping", '{"zen":"Keep it logically awesome."}'),
        answer: { status: 200, body: "" },
      },
    ],
  },
};
