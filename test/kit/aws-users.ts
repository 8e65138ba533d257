/** Users and roles of a moto whose signatures and policies are checked. */
import {
  CreateAccessKeyCommand,
  CreateRoleCommand,
  CreateUserCommand,
  IAMClient,
  PutRolePolicyCommand,
  PutUserPolicyCommand,
} from "@aws-sdk/client-iam";
import type { Keys } from "./aws-targets.ts";

/**
 * Calls that make one user: so many may pass unchecked, so that there is somebody who may make the others.
 */
export const CALLS_OF_A_USER = 3;

const allowing = (action: string) =>
  JSON.stringify({ Version: "2012-10-17", Statement: [{ Effect: "Allow", Action: action, Resource: "*" }] });

function iamOf(url: string, credentials: Keys): IAMClient {
  return new IAMClient({ endpoint: url, region: "us-east-1", credentials, maxAttempts: 1 });
}

/** The keys of a new user who may do this and nothing else. */
export async function makeUser(url: string, by: Keys, name: string, action: string): Promise<Keys> {
  const iam = iamOf(url, by);
  await iam.send(new CreateUserCommand({ UserName: name }));
  const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName: name }));
  const policy = { UserName: name, PolicyName: "all", PolicyDocument: allowing(action) };
  await iam.send(new PutUserPolicyCommand(policy));
  return { accessKeyId: AccessKey?.AccessKeyId ?? "", secretAccessKey: AccessKey?.SecretAccessKey ?? "" };
}

/** A role that everybody may assume and that may do all. */
export async function makeRole(url: string, by: Keys, name: string): Promise<void> {
  const iam = iamOf(url, by);
  const trust = { RoleName: name, AssumeRolePolicyDocument: allowing("sts:AssumeRole") };
  await iam.send(new CreateRoleCommand(trust));
  const policy = { RoleName: name, PolicyName: "all", PolicyDocument: allowing("*") };
  await iam.send(new PutRolePolicyCommand(policy));
}
