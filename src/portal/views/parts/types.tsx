import type { JSX } from "preact";
import { t } from "../../i18n.ts";

const TYPES_SHOWN = 3;

/** Patterns that an endpoint subscribes to: three, then how many more. */
export function Types({ types }: { types: readonly string[] | null }): JSX.Element {
  if (types === null) return <span class="muted">{t("endpoints.alltypes")}</span>;
  const rest = types.slice(TYPES_SHOWN);
  return (
    <span class="types">
      {types.slice(0, TYPES_SHOWN).map((type) => (
        <code key={type}>{type}</code>
      ))}
      {rest.length > 0 && (
        <span class="muted" title={rest.join("\n")}>
          +{rest.length}
        </span>
      )}
    </span>
  );
}
