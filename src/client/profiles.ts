import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../core/errors.ts";
import { isObject, parseObject } from "../core/json/value.ts";
import { CommandError } from "../platform/command-line.ts";
import { changeShared, readIfThere } from "./shared-file.ts";

/** Installations that somebody has logged in to, each by a name: a file that only its owner reads. */

export type Env = Readonly<Record<string, string | undefined>>;

/** Where an installation is, and a key of a project there. */
export interface Installation {
  /** Without a slash at its end. */
  url: string;
  key: string;
}

export type Profiles = Readonly<Record<string, Installation>>;

export const DEFAULT_PROFILE = "default";

/** The folder of what the commands keep. */
export function settingsFolder(env: Env): string {
  const given = env["XDG_CONFIG_HOME"] ?? "";
  // The XDG specification has a relative path ignored.
  const home = given.startsWith("/") ? given : join(env["HOME"] ?? homedir(), ".config");
  return join(home, "sealpost");
}

/** Makes the folder where it is missing, for its owner alone. */
export function makeSettingsFolder(env: Env): string {
  const folder = settingsFolder(env);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new CommandError(`${folder} cannot be made: ${messageOf(error)}`);
  }
  return folder;
}

function fileOf(env: Env): string {
  return join(settingsFolder(env), "profiles.json");
}

/** All profiles; none where there is no file. Throws CommandError where the file cannot be read. */
export function readProfiles(env: Env): Profiles {
  const path = fileOf(env);
  let text: string | null;
  try {
    text = readIfThere(path);
  } catch (error) {
    throw new CommandError(`${path} cannot be read: ${messageOf(error)}`);
  }
  return profilesIn(path, text);
}

function profilesIn(path: string, text: string | null): Profiles {
  const profiles = text === null ? {} : parseProfiles(text);
  if (profiles === null)
    throw new CommandError(`${path} is no file of profiles: remove it, and log in again`);
  return profiles;
}

/** The profiles of a file's text; null where it holds something else. */
export function parseProfiles(text: string): Profiles | null {
  const kept = parseObject(text)?.["profiles"];
  const entries = isObject(kept) ? Object.entries(kept) : null;
  return entries?.every(isEntry) === true ? Object.fromEntries(entries) : null;
}

function isEntry(entry: [string, unknown]): entry is [string, Installation] {
  const [, one] = entry;
  return isObject(one) && typeof one["url"] === "string" && typeof one["key"] === "string";
}

/** Keeps an installation by this name, or with null forgets it. */
export function keepProfile(env: Env, name: string, installation: Installation | null): void {
  makeSettingsFolder(env);
  const path = fileOf(env);
  try {
    changeShared(path, (text) => {
      const { [name]: _former, ...others } = profilesIn(path, text);
      const profiles = installation === null ? others : { ...others, [name]: installation };
      return `${JSON.stringify({ profiles }, null, 2)}\n`;
    });
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${path} cannot be written: ${messageOf(error)}`);
  }
}
