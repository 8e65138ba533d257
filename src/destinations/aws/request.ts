import type { Ask, DestinationConfig, Message, OutgoingRequest } from "../destination.ts";
import { headersWith, perConfig, textOf } from "../requests.ts";
import { type UrlParts, urlParts } from "../../transport/url-parts.ts";
import { credentialsOf, serviceUrl, serviceUrlIn } from "./session.ts";
import { signAws } from "./sign.ts";

export interface AwsCall {
  /** As in the credential scope. */
  service: string;
  method?: string;
  url: UrlParts;
  headers: ReadonlyArray<readonly [string, string]>;
  body: Uint8Array;
}

/** The call, signed for this moment with the credentials of `config` or of the role that they assume. */
export async function awsRequest(
  call: AwsCall,
  config: DestinationConfig,
  message: Message,
  now: number,
  ask: Ask,
): Promise<OutgoingRequest> {
  const headers = headersWith(call.headers, message);
  const credentials = await credentialsOf(config, message, now, ask);
  const region = textOf(config, "region") ?? "";
  const { timestampSeconds } = message;
  return signAws(
    { method: call.method ?? "POST", url: call.url, headers, body: call.body },
    { service: call.service, region, credentials, timestampSeconds },
  );
}

/**
 * `endpoint`, or the service's own address in the region: the same object for each version of the endpoint.
 */
export function serviceUrlOf(service: string): (config: DestinationConfig) => UrlParts {
  return perConfig((config) =>
    urlParts(serviceUrlIn(config, "endpoint") ?? serviceUrl(service, textOf(config, "region") ?? "")),
  );
}

/** The headers of the JSON protocols. */
export function jsonHeaders(version: "1.0" | "1.1", target: string): AwsCall["headers"] {
  return [
    ["content-type", `application/x-amz-json-${version}`],
    ["x-amz-target", target],
  ];
}
