import { CommandError } from "../platform/command-line.ts";
import type { Api } from "./api.ts";

export interface SourceAnswer {
  id: string;
  name: string;
  provider: string;
}

/** The source of this id or name. Throws where there is none, or several have the name. */
export async function findSource(api: Api, idOrName: string): Promise<SourceAnswer> {
  const found: SourceAnswer[] = [];
  for await (const { data } of api.pages<SourceAnswer>("/v1/sources", () => ({ limit: "100" })))
    found.push(...data.filter(({ id, name }) => id === idOrName || name === idOrName));
  const [source, ...others] = found;
  if (source === undefined) throw new CommandError(`There is no source with the id or name ${idOrName}`);
  if (others.length === 0) return source;
  throw new CommandError(`Several sources are called ${idOrName}: ${found.map(({ id }) => id).join(", ")}`);
}
