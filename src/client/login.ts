import {
  type Call,
  EXIT,
  printableJson,
  runCommandLine,
  tableOf,
  UsageError,
} from "../platform/command-line.ts";
import { Api, Refused } from "./api.ts";
import { LOCAL_URL, readUrl } from "./installation.ts";
import { DEFAULT_PROFILE, type Installation, keepProfile, readProfiles } from "./profiles.ts";
import { readHidden } from "./terminal.ts";

export interface LoginOptions {
  url?: string;
  profile?: string;
  list?: boolean;
  json?: boolean;
}

/** `sealpost login`: keeps where an installation is, and a key that it takes. */
export function runLogin({ options, usage }: Call<LoginOptions>): Promise<number> {
  return runCommandLine(usage, () => (options.list === true ? list(options) : login(options)));
}

/** `sealpost logout`: forgets a profile. The key itself stays valid: it is revoked at the installation. */
export function runLogout({ options, usage }: Call<{ profile?: string }>): Promise<number> {
  const forget = async () => {
    const name = options.profile ?? DEFAULT_PROFILE;
    if (!Object.hasOwn(readProfiles(process.env), name)) throw new UsageError(`There is no profile ${name}`);
    keepProfile(process.env, name, null);
    console.log(`${name}: forgotten. The key is still valid.`);
    return EXIT.good;
  };
  return runCommandLine(usage, forget);
}

async function login({ url: given, profile = DEFAULT_PROFILE, json }: LoginOptions): Promise<number> {
  if (!/^[\w.-]{1,64}$/.test(profile) || profile === "__proto__")
    throw new UsageError("The name of a profile has letters, digits, dots and dashes, at most 64");
  const url = readUrl(given ?? process.env["SEALPOST_URL"] ?? LOCAL_URL);
  const key = await readHidden(`Key for ${url}: `);
  // Else a text of several lines, or an empty one, would be told as a header that cannot be sent.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new UsageError("The key is read from standard input, and is one word");
  const installation = { url, key };
  const project = await projectOf(installation);
  keepProfile(process.env, profile, installation);
  if (json === true) console.log(printableJson({ profile, url, project }));
  else console.log(`${profile}: ${project === null ? "a key that publishes" : project} at ${url}`);
  return EXIT.good;
}

/** Of the key, in words; null where the key may not read it. Throws where it is no key. */
async function projectOf(installation: Installation): Promise<string | null> {
  try {
    const { name, mode } = await new Api(installation).ask<{ name: string; mode: string }>("/v1/project");
    return `${name} (${mode})`;
  } catch (error) {
    if (error instanceof Refused && error.code === "forbidden") return null;
    throw error;
  }
}

async function list({ json }: LoginOptions): Promise<number> {
  const rows = Object.entries(readProfiles(process.env)).map(([profile, { url, key }]) => {
    // As the portal shows a key: enough to tell it from another one.
    return { profile, url, key: `${key.slice(0, 12)}…` };
  });
  if (json === true) for (const row of rows) console.log(printableJson(row));
  else
    console.log(
      tableOf(
        ["profile", "url", "key"],
        rows.map(({ profile, url, key }) => [profile, url, key]),
      ),
    );
  return EXIT.good;
}
