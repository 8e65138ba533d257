import type { JSX } from "preact";
import { Badge } from "../../components/badge.tsx";
import { Id } from "../../components/id.tsx";
import { Section } from "../../components/layout.tsx";
import { Empty, Skeleton } from "../../components/states.tsx";
import { t } from "../../i18n.ts";
import { diffLines } from "../../json/json-diff.ts";
import type { Preview, Sample } from "./use-preview.ts";

/** The consumer's own events: which match, which do not and why, and what is sent of them. */
export function Samples({
  preview,
  message,
}: {
  preview: Preview | null;
  message: string | null;
}): JSX.Element {
  const samples = preview?.samples ?? [];
  const first = samples.find(({ matched }) => matched) ?? samples[0];
  return (
    <Section title={t("shape.preview")}>
      <div aria-live="polite">
        {message && <p class="field-error">{message}</p>}
        {preview && preview.tried > 0 && <p class="counts">{countsOf(preview)}</p>}
      </div>
      {preview === null && message === null ? <Skeleton rows={3} /> : null}
      {preview?.tried === 0 ? <Empty title={t("shape.preview.none")} /> : null}
      {samples.length > 0 ? (
        <ul class="samples">
          {samples.map((sample) => (
            <li key={sample.event_id}>
              <Row sample={sample} isOpen={sample === first} />
            </li>
          ))}
        </ul>
      ) : null}
    </Section>
  );
}

function countsOf({ tried, matched, failed }: Preview): string {
  const counts = t("shape.preview.counts", { matched, count: tried });
  return failed === 0 ? counts : `${counts} ${t("shape.preview.failed", { count: failed })}`;
}

function Row({ sample, isOpen }: { sample: Sample; isOpen: boolean }): JSX.Element {
  const { before, after, explanation, event_id: id } = sample;
  const text = JSON.stringify(before, null, 2);
  return (
    <details open={isOpen}>
      <summary>
        <Verdict sample={sample} />
        <code class="cut">{String(before["type"])}</code>
        {explanation && <span class="why">{explanation}</span>}
      </summary>
      <p class="muted small">
        {t("shape.event")} <Id id={id} />
      </p>
      <Diff before={text} after={after === null ? text : JSON.stringify(after, null, 2)} />
    </details>
  );
}

function Verdict({ sample: { matched, after } }: { sample: Sample }): JSX.Element {
  if (!matched) return <Badge tone="idle" icon="stop" text={t("shape.unmatched")} />;
  if (after === null) return <Badge tone="bad" icon="alert" text={t("shape.malformed")} />;
  return <Badge tone="good" icon="check" text={t("shape.matched")} />;
}

const SIGNS = { same: " ", gone: "−", new: "+" } as const;

function Diff({ before, after }: { before: string; after: string }): JSX.Element {
  const lines = diffLines(before, after);
  return (
    <pre class="diff" tabIndex={0} aria-label={t("shape.diff")}>
      {lines.map(({ kind, text }, at) => {
        const Tag = ({ same: "span", gone: "del", new: "ins" } as const)[kind];
        return (
          <Tag key={at} class="line">
            <span aria-hidden="true">{SIGNS[kind]} </span>
            {text}
            {"\n"}
          </Tag>
        );
      })}
    </pre>
  );
}
