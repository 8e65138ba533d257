import { UsageError } from "../platform/command-line.ts";
import { SettingsError } from "../platform/start-error.ts";
import { DEFAULT_PROFILE, type Env, type Installation, readProfiles } from "./profiles.ts";

/** Where a service listens that runs on this machine with no settings of its own. */
export const LOCAL_URL = "http://localhost:8080";

/**
 * The installation that a command talks to: of the profile that it names, else of the environment, else of
 * the profile `default`. Throws where there is none.
 */
export function findInstallation(profile: string | undefined, env: Env): Installation {
  if (profile !== undefined) return requireProfile(profile, env);
  const { SEALPOST_URL: url = "", SEALPOST_API_KEY: key = "" } = env;
  if (key !== "") return { url: readUrl(url === "" ? LOCAL_URL : url), key };
  // The key of a profile goes to the address of that profile and nowhere else.
  if (url !== "") throw new SettingsError(["SEALPOST_URL needs SEALPOST_API_KEY beside it, or --profile"]);
  return requireProfile(DEFAULT_PROFILE, env);
}

function requireProfile(name: string, env: Env): Installation {
  const profiles = readProfiles(env);
  if (Object.hasOwn(profiles, name)) return profiles[name] as Installation;
  const known = Object.keys(profiles);
  if (known.length === 0)
    throw new SettingsError(["There is no key: run sealpost login, or set SEALPOST_API_KEY"]);
  throw new SettingsError([`There is no profile ${name}, only ${known.join(", ")}: see sealpost login`]);
}

/** The address of an installation as it is kept. Throws UsageError for a text that is none. */
export function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username)
    throw new UsageError("The address must be an http or https URL without query, fragment and user");
  return url.href.replace(/(?<!\/)\/+$/, "");
}
