import type { JSX } from "preact";
import { Choice } from "../../components/layout.tsx";
import { t } from "../../i18n.ts";
import { setQuery } from "../../router.ts";
import type { ViewProps } from "../../view.ts";
import { type Span, SPANS } from "../deliveries/filter.ts";

const USUAL: Span = "day";

/** How far the numbers of the source go back. */
export function spanOf(query: ViewProps["query"]): Span {
  const wanted = query["window"];
  return wanted !== undefined && Object.hasOwn(SPANS, wanted) ? (wanted as Span) : USUAL;
}

export function SpanChoice({ query }: { query: ViewProps["query"] }): JSX.Element {
  return (
    <Choice
      label={t("overview.window")}
      value={spanOf(query)}
      options={(Object.keys(SPANS) as Span[]).map((value) => ({
        value,
        text: t(`deliveries.span.${value}`),
      }))}
      onChange={(span) =>
        setQuery({ window: span === USUAL ? null : span, from: null, to: null, reason: null })
      }
    />
  );
}
