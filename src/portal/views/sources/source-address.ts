import { to } from "../../router.ts";
import type { Source } from "../../types.ts";
import type { ViewProps } from "../../view.ts";

/** Of a tab of a source. */
export function addressOf({ id }: Pick<Source, "id">, tab: string, query: ViewProps["query"]): string {
  return to(tab === "overview" ? `/sources/${id}` : `/sources/${id}/${tab}`, query);
}
