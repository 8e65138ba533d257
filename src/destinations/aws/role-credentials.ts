import type { DestinationConfig } from "../destination.ts";
import { endNow, Grants, type Lifetime } from "../grants.ts";
import type { AwsCredentials } from "./sign.ts";

/** What STS grants for a role (session.ts) until a service refuses it (answers.ts). */

export interface RoleCredentials extends AwsCredentials, Lifetime {
  granted: readonly string[];
}

export const roleCredentials = new Grants<RoleCredentials>();

/** A service refused them: the next attempt asks STS for others. */
export function forgetRole(config: DestinationConfig): void {
  endNow(roleCredentials.lookUp(config));
}
