import {
  type Answer,
  type Ask,
  type DestinationConfig,
  type Message,
  type OutgoingRequest,
  Unprepared,
} from "../destination.ts";
import { perConfig, textOf } from "../requests.ts";
import { USER_AGENT } from "../../transport/user-agent.ts";
import { errorNamed } from "../answers.ts";
import { lifetimeOf, readGranted } from "../grants.ts";
import { judgeRefusal, readElement } from "./answers.ts";
import { type RoleCredentials, roleCredentials } from "./role-credentials.ts";
import { type AwsCredentials, signAws } from "./sign.ts";

/**
 * The credentials that a request is signed with: those of `config`, or those of the role that they assume. A
 * role's credentials are asked for once for each version of the endpoint, however many deliveries wait for
 * them, again some minutes before they expire, and by the next attempt after a service refused them.
 */

/** Less than this is not worth a request: it must still arrive. */
const USABLE_MS = 30_000;

const encoder = new TextEncoder();

export function credentialsOf(
  config: DestinationConfig,
  message: Message,
  now: number,
  ask: Ask,
): AwsCredentials | Promise<AwsCredentials> {
  const session = sessionOf(config);
  return session === null ? longTermOf(config) : session.credentials(message, now, ask);
}

function longTermOf(config: DestinationConfig): AwsCredentials {
  const sessionToken = textOf(config, "session_token");
  return {
    accessKeyId: textOf(config, "access_key_id") ?? "",
    secretAccessKey: textOf(config, "secret_access_key") ?? "",
    ...(sessionToken !== null && { sessionToken }),
  };
}

const sessionOf = perConfig((config) => {
  const roleArn = textOf(config, "role_arn");
  return roleArn === null ? null : new RoleSession(config, roleArn);
});

class RoleSession {
  #asking: Promise<RoleCredentials> | null = null;

  constructor(
    private readonly config: DestinationConfig,
    private readonly roleArn: string,
  ) {}

  credentials(message: Message, now: number, ask: Ask): AwsCredentials | Promise<AwsCredentials> {
    const held = roleCredentials.lookUp(this.config);
    if (held !== undefined && now < held.renewsAt) return held;
    const fresh = this.#refresh(message, now, ask);
    if (held === undefined || held.endsAt - now <= USABLE_MS) return fresh;
    // The old ones serve until the new ones are there; where none come, the next delivery asks again.
    fresh.catch(() => {});
    return held;
  }

  #refresh(message: Message, now: number, ask: Ask): Promise<RoleCredentials> {
    this.#asking ??= this.#assume(message, now, ask).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #assume(message: Message, now: number, ask: Ask): Promise<RoleCredentials> {
    const { endpointId, timestampSeconds } = message;
    const externalId = textOf(this.config, "external_id");
    const form = new URLSearchParams({
      Action: "AssumeRole",
      Version: "2011-06-15",
      RoleArn: this.roleArn,
      // Shows in the account's CloudTrail.
      RoleSessionName: `sealpost-${endpointId}`,
      ...(externalId !== null && { ExternalId: externalId }),
    });
    const region = textOf(this.config, "region") ?? "";
    const request = await signAws(
      {
        method: "POST",
        url: stsUrlOf(this.config, region),
        headers: [
          ["user-agent", USER_AGENT],
          ["content-type", "application/x-www-form-urlencoded; charset=utf-8"],
        ],
        body: encoder.encode(form.toString()),
      },
      { service: "sts", region, credentials: longTermOf(this.config), timestampSeconds },
    );
    const credentials = this.#read(request, await ask(request), now);
    roleCredentials.set(this.config, credentials);
    return credentials;
  }

  #read(asked: OutgoingRequest, answer: Answer, now: number): RoleCredentials {
    const refusal = (detail: string, throttled: boolean) =>
      new Unprepared(
        { kind: "response", truncated: false, ...answer },
        { error: errorNamed("role_refused", detail), throttled, asked },
      );
    if (answer.status !== 200) {
      const judged = judgeRefusal(answer, {
        signedBy: null,
        action: "sts:AssumeRole",
        resource: this.roleArn,
      });
      throw refusal(judged.error?.detail ?? `status ${answer.status}`, judged.throttled);
    }
    const accessKeyId = readGranted(readElement(answer.body, "AccessKeyId"));
    const secretAccessKey = readGranted(readElement(answer.body, "SecretAccessKey"));
    const sessionToken = readGranted(readElement(answer.body, "SessionToken"));
    const endsAt = Date.parse(readElement(answer.body, "Expiration") ?? "");
    if (!accessKeyId || !secretAccessKey || !sessionToken || Number.isNaN(endsAt)) {
      throw refusal("The answer holds no credentials that can be used.", false);
    }
    const granted = [accessKeyId, secretAccessKey, sessionToken];
    return { accessKeyId, secretAccessKey, sessionToken, granted, ...lifetimeOf(now, endsAt) };
  }
}

/**
 * A compatible server that is called for its queues has the roles too; AWS's own addresses have one
 * service each.
 */
function stsUrlOf(config: DestinationConfig, region: string): URL {
  const own = serviceUrlIn(config, "sts_endpoint");
  if (own !== null) return own;
  const endpoint = serviceUrlIn(config, "endpoint");
  return endpoint !== null && !isAws(endpoint) ? endpoint : serviceUrl("sts", region);
}

/**
 * The URL that a field names, null where none is given: without the query that it may have where it was
 * stored before fields refused one.
 */
export function serviceUrlIn(config: DestinationConfig, name: string): URL | null {
  const text = textOf(config, name);
  if (text === null) return null;
  const url = new URL(text);
  url.search = "";
  url.hash = "";
  return url;
}

function isAws({ hostname }: URL): boolean {
  return /\.amazonaws\.(com|com\.cn|eu)$/.test(hostname);
}

/** The address of a service in a region, in the partition that the region is of. */
export function serviceUrl(service: string, region: string): URL {
  return new URL(`https://${service}.${region}.${domainOf(region)}/`);
}

export function domainOf(region: string): string {
  if (region.startsWith("cn-")) return "amazonaws.com.cn";
  return region.startsWith("eusc-") ? "amazonaws.eu" : "amazonaws.com";
}
