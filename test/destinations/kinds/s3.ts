import { AWS_CONFIG, AWS_REFUSED, assumedRole } from "./aws.ts";
import { DELIVERED, type KindCase, refused, textOf } from "./case.ts";

const error = (code: string, message = "", more = "") =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message>${more}</Error>`;

export const s3: KindCase = {
  kind: "s3",
  config: {
    bucket: "orders",
    prefix: "webhooks/prod",
    key_template: "{type}/{endpoint_id}/{date}T{hour}/{id} (über+1).json",
    ...AWS_CONFIG,
  },
  asked: assumedRole,
  refused: [
    ...AWS_REFUSED,
    { name: "a bucket with a slash", config: { bucket: "a/b" }, pointer: "/config/bucket" },
    { name: "a bucket that is a way up", config: { bucket: ".." }, pointer: "/config/bucket" },
    {
      name: "a key without the id",
      config: { key_template: "{date}/{type}.json" },
      pointer: "/config/key_template",
    },
    {
      name: "a key with an unknown name",
      config: { key_template: "{id}-{day}" },
      pointer: "/config/key_template",
    },
    { name: "a key with a way up", config: { key_template: "../{id}" }, pointer: "/config/key_template" },
    {
      name: "a key with an empty segment",
      config: { key_template: "a//{id}" },
      pointer: "/config/key_template",
    },
    { name: "a prefix with a way up", config: { prefix: "a/../b" }, pointer: "/config/prefix" },
    { name: "a prefix with a line break", config: { prefix: "a\nb" }, pointer: "/config/prefix" },
    { name: "a prefix that fills the key", config: { prefix: "x".repeat(600) }, pointer: "/config/prefix" },
  ],
  statusDecides: true,
  received(request) {
    const metadata = request.headers.flatMap(([name, value]) =>
      name.startsWith("x-amz-meta-") ? [[name.slice("x-amz-meta-".length), value]] : [],
    );
    return {
      body: textOf(request),
      headers: Object.fromEntries(metadata) as Record<string, string>,
      identity: request.url.href,
    };
  },
  answers: [
    { name: "200", status: 200, headers: { etag: '"49f68a5c"' }, judged: DELIVERED },
    { name: "202, which is no answer of PutObject", status: 202, judged: refused("unexpected_answer") },
    {
      name: "a bucket that is not there",
      status: 404,
      body: error("NoSuchBucket"),
      judged: refused("refused: NoSuchBucket"),
    },
    {
      name: "a bucket of another region",
      status: 301,
      body: error("PermanentRedirect"),
      judged: refused("refused: PermanentRedirect"),
    },
    {
      name: "too many requests",
      status: 503,
      body: error("SlowDown"),
      judged: refused("refused: SlowDown", true),
    },
    {
      name: "too many requests, inside a 400",
      status: 400,
      body: error("SlowDown"),
      judged: refused("refused: SlowDown", true),
    },
    {
      name: "a permission that is missing",
      status: 403,
      body: error("AccessDenied", "Access Denied"),
      judged: refused("permission_missing: s3:PutObject on arn:aws:s3:::orders/webhooks/prod/*"),
    },
    {
      name: "a permission that is missing, by its name",
      status: 403,
      body: error(
        "AccessDenied",
        "User: arn:aws:iam::1:user/x is not authorized to perform: kms:GenerateDataKey on resource: &quot;arn:aws:kms:eu-central-1:1:key/2&quot; because",
      ),
      judged: refused("permission_missing: kms:GenerateDataKey on arn:aws:kms:eu-central-1:1:key/2"),
    },
    {
      name: "an unknown key",
      status: 403,
      body: error("InvalidAccessKeyId"),
      judged: refused("refused: InvalidAccessKeyId"),
    },
    {
      name: "a wrong secret",
      status: 403,
      body: error("SignatureDoesNotMatch"),
      judged: refused("refused: SignatureDoesNotMatch"),
    },
    { name: "500", status: 500, body: error("InternalError"), judged: refused("refused: InternalError") },
  ],
};
