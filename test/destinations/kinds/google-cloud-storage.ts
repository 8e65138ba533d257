import { type KindCase, textOf } from "./case.ts";
import { grantToken, serviceAccount } from "./google.ts";
import { recorded } from "./recorded.ts";

export const googleCloudStorage: KindCase = {
  kind: "google_cloud_storage",
  config: {
    bucket: "acme-events",
    prefix: "webhooks/prod",
    key_template: "{type}/{date}T{hour}/{endpoint_id}/{id} (über+1).json",
    service_account_json: serviceAccount("http://127.0.0.1:9099/token"),
    endpoint: "http://127.0.0.1:4443",
  },
  refused: [
    {
      name: "a token address in a private network",
      config: { service_account_json: serviceAccount("http://10.0.0.1/token") },
      pointer: "/config/service_account_json",
      code: "unsafe_destination",
    },
    { name: "a bucket that is a path", config: { bucket: "a/b" }, pointer: "/config/bucket" },
    {
      name: "a key without the id",
      config: { key_template: "{date}.json" },
      pointer: "/config/key_template",
    },
    {
      name: "a key with an unknown name",
      config: { key_template: "{id}{day}" },
      pointer: "/config/key_template",
    },
    { name: "a key with a way up", config: { key_template: "../{id}" }, pointer: "/config/key_template" },
    { name: "a prefix with a line break", config: { prefix: "a\nb" }, pointer: "/config/prefix" },
    { name: "a prefix that fills the key", config: { prefix: "x".repeat(600) }, pointer: "/config/prefix" },
  ],
  asked: grantToken,
  received(request) {
    const boundary = /boundary=(\S+)$/.exec(new Map(request.headers).get("content-type") ?? "")?.[1] ?? "";
    const [, first = "", second = ""] = textOf(request).split(`--${boundary}`);
    const content = (part: string) => part.slice(part.indexOf("\r\n\r\n") + 4, -2);
    const { name, metadata } = JSON.parse(content(first));
    return { body: content(second), headers: metadata, identity: name };
  },
  answers: [
    ...recorded("fake-gcs-server 1.56.1", [
      [
        "the object",
        200,
        {
          kind: "storage#object",
          name: "2026-11-21/09/msg_1.json",
          id: "orders/2026-11-21/09/msg_1.json",
          bucket: "orders",
          size: "3",
          generation: "1795299424727000",
          metadata: { "webhook-id": "msg_1" },
        },
        "delivered",
      ],
      ["another server's success", 200, { name: "x" }, "unexpected_answer"],
      ["no such bucket", 404, { error: { code: 404, message: "bucket not found" } }, "bucket_not_found"],
    ]),
    ...recorded("cloud.google.com/storage/docs/json_api/v1/status-codes", [
      [
        "no permission to overwrite",
        403,
        {
          error: {
            code: 403,
            message:
              "sealpost@acme-1.iam.example.com does not have storage.objects.delete access to the object.",
            errors: [{ message: "…", domain: "global", reason: "forbidden" }],
          },
        },
        "permission_missing",
      ],
      [
        "too many requests, inside a 403",
        403,
        { error: { code: 403, errors: [{ domain: "usageLimits", reason: "rateLimitExceeded" }] } },
        "quota_exceeded",
        true,
      ],
      ["too many requests", 429, { error: { code: 429 } }, "quota_exceeded", true],
      ["a token that ended", 401, { error: { code: 401, message: "Invalid Credentials" } }, "token_refused"],
      ["an outage", 503, "", null],
    ]),
  ],
};
