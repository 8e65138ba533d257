/** What the cases of the AWS kinds share. */
import type { Answer, OutgoingRequest } from "../../../src/destinations/destination.ts";
import { type AnswerCase, answerOf, type Config, type RefusedConfig, refused, textOf } from "./case.ts";

export const AWS_CONFIG: Config = {
  region: "eu-central-1",
  access_key_id: "AKIDEXAMPLEKEYOFACASE",
  secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  session_token: "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMic==",
  role_arn: "arn:aws:iam::123456789012:role/teams/sealpost-sender",
  external_id: "customer:42/eu",
  endpoint: "http://127.0.0.1:9/",
  sts_endpoint: "http://127.0.0.1:9/sts",
};

/** As STS answers an AssumeRole, for an hour from now on. */
export function assumedRole(request: OutgoingRequest): Answer {
  const form = new URLSearchParams(textOf(request));
  if (
    form.get("RoleArn") !== AWS_CONFIG["role_arn"] ||
    form.get("ExternalId") !== AWS_CONFIG["external_id"]
  ) {
    throw new Error(`not what was configured: ${form.toString()}`);
  }
  const expiration = new Date(Date.now() + 3_600_000).toISOString();
  return answerOf({
    status: 200,
    body:
      '<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>' +
      "<AccessKeyId>ASIAGRANTED</AccessKeyId><SecretAccessKey>granted-secret</SecretAccessKey>" +
      `<SessionToken>granted/token+=</SessionToken><Expiration>${expiration}</Expiration>` +
      "</Credentials></AssumeRoleResult></AssumeRoleResponse>",
  });
}

export const AWS_REFUSED: readonly RefusedConfig[] = [
  { name: "a region with a slash", config: { region: "eu/central" }, pointer: "/config/region" },
  { name: "a region with a port", config: { region: "eu-central-1:80" }, pointer: "/config/region" },
  { name: "a region in capitals", config: { region: "EU" }, pointer: "/config/region" },
  { name: "a region of dots", config: { region: ".." }, pointer: "/config/region" },
  {
    name: "a secret with a line break",
    config: { secret_access_key: "a\nb" },
    pointer: "/config/secret_access_key",
  },
  {
    name: "a role that is a user",
    config: { role_arn: "arn:aws:iam::123456789012:user/x" },
    pointer: "/config/role_arn",
  },
  { name: "an endpoint that is no URL", config: { endpoint: "127.0.0.1" }, pointer: "/config/endpoint" },
  {
    name: "an endpoint with a user name",
    config: { endpoint: "http://user@127.0.0.1/" },
    pointer: "/config/endpoint",
    code: "unsafe_destination",
  },
  {
    name: "an endpoint with a query",
    config: { endpoint: "http://127.0.0.1:9/?a" },
    pointer: "/config/endpoint",
  },
  {
    name: "an STS endpoint with a fragment",
    config: { sts_endpoint: "http://127.0.0.1:9/sts#a" },
    pointer: "/config/sts_endpoint",
  },
];

const XML_PATHS = "arn:aws:iam::123456789012:user/sender";

export function xmlError(code: string, message: string): string {
  return (
    '<ErrorResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><Error><Type>Sender</Type>' +
    `<Code>${code}</Code><Message>${message}</Message></Error><RequestId>b25f48e8</RequestId></ErrorResponse>`
  );
}

export function jsonError(type: string, message: string): string {
  return JSON.stringify({ __type: type, message });
}

/** Answers that every JSON service gives alike; `code` is what the permission error names. */
export function sharedAnswers(action: string, resource: string): AnswerCase[] {
  return [
    {
      name: "a permission that is missing, as policies say it",
      status: 400,
      body: jsonError(
        "com.amazonaws.kinesis.v20131202#AccessDeniedException",
        `User: ${XML_PATHS} is not authorized to perform: ${action.toLowerCase()} on resource: arn:aws:x:eu-central-1:123456789012:named because no identity-based policy allows it`,
      ),
      judged: refused(`permission_missing: ${action} on arn:aws:x:eu-central-1:123456789012:named`),
    },
    {
      name: "a permission that is missing, without its name",
      status: 403,
      body: jsonError("AccessDenied", "Access to the resource is denied."),
      judged: refused(`permission_missing: ${action} on ${resource}`),
    },
    {
      name: "the key of an encrypted destination",
      status: 400,
      body: jsonError(
        "KMS.AccessDeniedException",
        `User: ${XML_PATHS} is not authorized to perform: kms:GenerateDataKey on resource: arn:aws:kms:eu-central-1:123456789012:key/1 (Service: AWSKMS)`,
      ),
      judged: refused(
        "permission_missing: kms:GenerateDataKey on arn:aws:kms:eu-central-1:123456789012:key/1",
      ),
    },
    {
      name: "the key of an encrypted destination, without its name",
      status: 400,
      body: jsonError(
        "com.amazonaws.sqs#KmsAccessDenied",
        "The caller doesn't have the required KMS access.",
      ),
      judged: refused(`permission_missing: kms:GenerateDataKey on the key of ${resource}`),
    },
    {
      name: "a wrong secret",
      status: 403,
      body: jsonError("InvalidSignatureException", "The request signature we calculated does not match"),
      judged: refused("refused: InvalidSignatureException"),
    },
    {
      name: "an unknown key",
      status: 400,
      body: jsonError(
        "UnrecognizedClientException",
        "The security token included in the request is invalid.",
      ),
      judged: refused("refused: UnrecognizedClientException"),
    },
    {
      name: "a code in a header alone",
      status: 400,
      headers: { "x-amzn-errortype": "ExpiredTokenException:http://internal.amazon.com/coral/" },
      judged: refused("refused: ExpiredTokenException"),
    },
    {
      name: "a code in XML, as moto answers a wrong signature",
      status: 403,
      body: xmlError("SignatureDoesNotMatch", "The request signature we calculated does not match"),
      judged: refused("refused: SignatureDoesNotMatch"),
    },
    {
      name: "throttling inside a 400",
      status: 400,
      body: jsonError("com.amazon.coral.availability#ThrottlingException", "Rate exceeded"),
      judged: refused("refused: ThrottlingException", true),
    },
    { name: "429", status: 429, judged: refused(null) },
    { name: "503 without a body", status: 503, judged: refused(null) },
    {
      name: "503 that says so",
      status: 503,
      body: xmlError("ServiceUnavailable", "Please retry"),
      judged: refused("refused: ServiceUnavailable", true),
    },
    {
      name: "a code with more in it than codes have",
      status: 400,
      body: JSON.stringify({ __type: "x y\nz" }),
      judged: refused(null),
    },
    { name: "a redirect", status: 307, headers: { location: "https://example.com/" }, judged: refused(null) },
  ];
}
