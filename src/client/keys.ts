import { type Call, EXIT, printableJson, runCommandLine } from "../platform/command-line.ts";
import { Api } from "./api.ts";
import { findInstallation } from "./installation.ts";

export interface CreateKeyOptions {
  scopes?: string[];
  expiresAt?: string;
  project?: string;
  profile?: string;
  json?: boolean;
}

/**
 * `sealpost keys create`: the key alone on standard output, as it is shown this once. With `project` the
 * caller is the operator.
 */
export function runCreateKey({ words, options, usage }: Call<CreateKeyOptions>): Promise<number> {
  const create = async () => {
    const { scopes, expiresAt, project } = options;
    const api = new Api(findInstallation(options.profile, process.env));
    const path =
      project === undefined
        ? "/v1/api-keys"
        : `/v1/operator/projects/${encodeURIComponent(project)}/api-keys`;
    const body = JSON.stringify({ name: words[0], scopes, expires_at: expiresAt });
    const created = await api.ask<{ key: string }>(path, { method: "POST", body });
    if (options.json === true) console.log(printableJson(created));
    else console.log(created.key);
    return EXIT.good;
  };
  return runCommandLine(usage, create);
}

/** `sealpost keys revoke`: each of these at once. */
export function runRevokeKeys({ words, options, usage }: Call<{ profile?: string }>): Promise<number> {
  const revoke = async () => {
    const api = new Api(findInstallation(options.profile, process.env));
    for (const id of words) {
      await api.ask(`/v1/api-keys/${encodeURIComponent(id)}`, { method: "DELETE" });
      console.log(`${id}  revoked`);
    }
    return EXIT.good;
  };
  return runCommandLine(usage, revoke);
}
