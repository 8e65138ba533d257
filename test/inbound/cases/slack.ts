import type { ProviderCase } from "../case.ts";
import { jsonRequest, materialOf, requestOf } from "../kit.ts";
import { form, json } from "../near.ts";
import { hexMac } from "../recompute.ts";

const BODY = JSON.stringify({
  token: "xyzz0WbapA4vBCDEFasx0q6G",
  team_id: "T123ABC456",
  api_app_id: "A123ABC456",
  event: { type: "message", user: "U123ABC456", text: "Hello" },
  type: "event_callback",
  event_id: "Ev123ABC456",
  event_time: 1_234_567_890,
});

function headersFor(secret: string, nowMs: number, body: string): Record<string, string> {
  const timestamp = String(nowMs / 1000);
  return {
    "x-slack-request-timestamp": timestamp,
    "x-slack-signature": `v0=${hexMac(secret, `v0:${timestamp}:`, body)}`,
  };
}

function sign(secret: string, nowMs: number, body: string) {
  return jsonRequest(body, headersFor(secret, nowMs, body));
}

/** The worked example of "Verifying requests from Slack". */
const EXAMPLE = {
  source: "docs.slack.dev/authentication/verifying-requests-from-slack",
  request: requestOf({
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "x-slack-request-timestamp": "1531420618",
      "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    },
    body: "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
  }),
  material: materialOf(["8f742231b10e8888abcd99yyyzzz85a5"]),
  nowMs: 1_531_420_618_000,
};

export const SLACK_CASES: Readonly<Record<string, ProviderCase>> = {
  slack: {
    secrets: ["8f742231b10e8888abcd99yyyzzz85a5", "0123456789abcdef0123456789abcdef"],
    sign: (secret, nowMs) => sign(secret, nowMs, BODY),
    vectors: [EXAMPLE],
    requiredHeaders: ["x-slack-signature", "x-slack-request-timestamp"],
    window: { past: 300, future: 300 },
    expected: { type: "slack.message", deliveryId: "Ev123ABC456" },
    handshakes: [
      {
        name: "url_verification",
        request: (secret, nowMs) =>
          sign(
            secret,
            nowMs,
            JSON.stringify({ token: "x", challenge: "3eZbrw1aBm2rZgRNFdxV", type: "url_verification" }),
          ),
        answer: { status: 200, body: "3eZbrw1aBm2rZgRNFdxV" },
      },
      {
        name: "ssl_check",
        request: (secret, nowMs) => {
          const body = "ssl_check=1&token=x";
          const type = { "content-type": "application/x-www-form-urlencoded" };
          return requestOf({ body, headers: { ...type, ...headersFor(secret, nowMs, body) } });
        },
        answer: { status: 200, body: "" },
      },
    ],
    near: {
      happenings: [
        ...["Ev1", "Ev2"].map((event_id) => json({ event_id, event: { type: "message", text: "Hello" } })),
        ...["1.1", "1.2"].map((trigger_id) => form({ command: "/deploy", text: "now", trigger_id })),
        ...["2.1", "2.2"].map((trigger_id) =>
          form({ payload: JSON.stringify({ type: "shortcut", trigger_id }) }),
        ),
      ],
      again: [
        json({ event_id: "Ev1", event: { type: "message", text: "Hello" } }, { "x-slack-retry-num": "1" }),
      ],
    },
  },
};
