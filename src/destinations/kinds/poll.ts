import type { PolledKind } from "../destination.ts";

/** Nothing is pushed: the customer's own program fetches what waits (src/delivery/polling/poller.ts). */
export const poll: PolledKind = {
  kind: "poll",
  name: "Polling",
  about: {
    sentAs:
      "Nothing is sent. `GET /poll/<endpoint_id>` with the endpoint's secret as bearer token hands out what waits, oldest first, each " +
      "message with its exact body and the three `webhook-*` headers, signed at that moment.",
    deliveredWhen: "The `next_cursor` of the page that held it comes back.",
    testedAgainst: "The service itself, by its own HTTP interface.",
    notes:
      "It has no fields, and `headers`, `retry`, `timeout_seconds`, `max_concurrency` and `rate_limit_per_second` mean nothing to it. " +
      "What is never fetched expires with the retention of the plan. See [polling](polling.md).",
  },
  fields: [],
  maxBytes: null,
  isPolled: true,
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  Polling: "Abholung (Polling)",
};
