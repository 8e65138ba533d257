/** The services of the Compose file as processes of this machine: what it says, without a container. */
import { join } from "node:path";

export interface ComposeService {
  command: string[];
  environment: Record<string, string>;
  volumes: string[];
  build: string | { dockerfile_inline: string };
  stop_grace_period?: string;
}

export const COMPOSE_FILE = join(import.meta.dir, "../../deploy/compose/compose.yaml");

type Yaml = string | number | boolean | null | Yaml[] | { [name: string]: Yaml };

/** With `${NAME:-default}` and `${NAME:?reason}` filled in; throws the reason where one is missing. */
function fillIn(value: Yaml, env: Readonly<Record<string, string>>): Yaml {
  if (Array.isArray(value)) return value.map((one) => fillIn(one, env));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fillIn(one, env)]));
  if (typeof value !== "string") return value;
  return value.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, sign?: string, rest = "") => {
    const set = env[name] ?? "";
    if (set === "" && sign === "?") throw new Error(`${name}: ${rest}`);
    return set === "" ? rest : set;
  });
}

export async function readCompose(
  env: Readonly<Record<string, string>>,
): Promise<Record<string, ComposeService>> {
  const parsed = Bun.YAML.parse(await Bun.file(COMPOSE_FILE).text()) as { services: Yaml };
  return fillIn(parsed.services, env) as unknown as Record<string, ComposeService>;
}
