import type { JSX } from "preact";
import type { Fault } from "../../api.ts";
import { t } from "../../i18n.ts";

/** Keys at the top of a filter that no event has, as the API told them, in the reader's language. */
export function FilterWarnings({ warnings }: { warnings: readonly Fault[] }): JSX.Element {
  return (
    <div role="status">
      {warnings.map(({ pointer }) => (
        <p key={pointer} class="notice warn">
          {wordsOf(nameIn(pointer))}
        </p>
      ))}
    </div>
  );
}

/** The last part of a JSON Pointer. */
function nameIn(pointer: string): string {
  return pointer
    .slice(pointer.lastIndexOf("/") + 1)
    .replaceAll("~1", "/")
    .replaceAll("~0", "~");
}

function wordsOf(name: string): string {
  const path = name.split(".");
  const below = path[0] === "data" ? path : ["data", ...path];
  const instead = below.reduceRight((inner, part) => `{${JSON.stringify(part)}: ${inner}}`, "…");
  return t("filter.stranger", { name, instead });
}
