import type { JSX } from "preact";
import { LinkButton } from "../../components/button.tsx";
import { Section } from "../../components/layout.tsx";
import { number } from "../../display/format.ts";
import { t } from "../../i18n.ts";
import { setQuery } from "../../router.ts";
import { may } from "../../session.ts";
import type { RefusalReason, SourceNumbers } from "../../types.ts";
import { reasonsOf, type SourceBars } from "./bars.ts";
import { explainRefusal, REMEDIES } from "./refusal.ts";
import { addressOf } from "./source-address.ts";
import type { SourceTabProps } from "./source-tab.ts";

interface ReasonsProps extends SourceTabProps {
  bars: SourceBars;
  /** Of the bars that are chosen. */
  numbers: SourceNumbers;
  /** Shown alone in the chart. */
  chosen: RefusalReason | null;
}

/** Why requests were refused: each reason with its course over time, what it comes from, and what to do. */
export function Reasons({ numbers, ...props }: ReasonsProps): JSX.Element | null {
  const reasons = reasonsOf(numbers);
  if (reasons.length === 0) return null;
  return (
    <Section title={t("source.reasons")}>
      <ul class="reasons">
        {reasons.map(([reason, count]) => (
          <Reason key={reason} reason={reason} count={count} {...props} />
        ))}
      </ul>
    </Section>
  );
}

interface ReasonProps extends Omit<ReasonsProps, "numbers"> {
  reason: RefusalReason;
  count: number;
}

function Reason({ reason, count, bars, chosen, source, provider, query }: ReasonProps): JSX.Element {
  const said = explainRefusal(reason, provider);
  const tab = REMEDIES[reason];
  const isChosen = chosen === reason;
  return (
    <li class="reason">
      <div class="reason-head">
        <button
          type="button"
          class="reason-name"
          aria-pressed={isChosen}
          title={t("source.reasons.show")}
          onClick={() => setQuery({ reason: isChosen ? null : reason })}
        >
          {said.name}
        </button>
        <span class="reason-count">{t("source.reasons.count", { count })}</span>
        <Spark counts={bars.of(reason)} />
      </div>
      <p>
        {said.what} <span class="muted">{said.next}</span>
      </p>
      {may.manage && tab && (
        <LinkButton kind="quiet" icon="next" href={addressOf(source, tab, query)}>
          {t(`source.goto.${tab}`)}
        </LinkButton>
      )}
    </li>
  );
}

const SPARK_HEIGHT = 20;
/** What is not nothing is seen. */
const LEAST = 2;

/** The course of a reason in small; the chart's table has the numbers. */
function Spark({ counts }: { counts: readonly number[] }): JSX.Element {
  const highest = Math.max(1, ...counts);
  const heightOf = (count: number) => (count === 0 ? 0 : Math.max(LEAST, (count / highest) * SPARK_HEIGHT));
  return (
    <span class="spark dead" aria-hidden="true" title={number(highest)}>
      {counts.map((count, at) => (
        <span key={at} style={{ height: `${heightOf(count)}px` }} />
      ))}
    </span>
  );
}
