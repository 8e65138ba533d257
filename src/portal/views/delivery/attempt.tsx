import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { Body } from "../../components/code.tsx";
import { copy } from "../../components/id.tsx";
import { Icon } from "../../components/icons.tsx";
import { Time } from "../../components/time.tsx";
import { explain } from "../../display/explain.ts";
import { bytes, duration } from "../../display/format.ts";
import { t } from "../../i18n.ts";
import type { Attempt } from "../../types.ts";
import { curlOf, isMasked } from "./curl.ts";
import { attemptTitle, lookOf } from "./words.ts";

interface AttemptProps {
  attempt: Attempt;
  isOpen: boolean;
  /** It was a request over HTTP of the endpoint's own, which curl can make too. */
  isHttp: boolean;
}

/** One attempt, folded: what was sent and what came back, side by side. */
export function AttemptCard({ attempt, isOpen: wasOpen, isHttp }: AttemptProps): JSX.Element {
  const [isOpen, setOpen] = useState(wasOpen);
  return (
    <details class="attempt" open={wasOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="next" />
        <span class="strong">{attemptTitle(attempt)}</span>
        <Badge {...lookOf(attempt)} />
        {attempt.trigger !== "publish" && <span class="muted">{t(`trigger.${attempt.trigger}`)}</span>}
        <span class="attempt-facts muted">
          {duration(attempt.duration_ms)}
          <Time at={attempt.started_at} />
        </span>
      </summary>
      {isOpen && <RequestAndAnswer attempt={attempt} isHttp={isHttp} />}
    </details>
  );
}

function RequestAndAnswer({ attempt, isHttp }: Omit<AttemptProps, "isOpen">): JSX.Element {
  const isFailed = attempt.outcome !== "delivered" && attempt.outcome !== "handed_out";
  const said = explain(attempt);
  const copyCurl = () =>
    void copy(curlOf(attempt), isMasked(attempt) ? t("attempt.curl.masked") : t("attempt.curl"));
  return (
    <div class="exchange">
      {isFailed && (
        <p class="notice bad">
          <Icon name="alert" />
          <span>
            <strong>{said.what}</strong> {said.next}
            {attempt.error_code !== null && <code class="error-code">{attempt.error_code}</code>}
          </span>
        </p>
      )}
      <section aria-label={t("attempt.request")}>
        <div class="exchange-head">
          <h3>{t("attempt.request")}</h3>
          {isHttp && attempt.request_body !== null && (
            <Button kind="quiet" icon="copy" onClick={copyCurl}>
              {t("attempt.curl.copy")}
            </Button>
          )}
        </div>
        {attempt.url !== null && <p class="mono breaks small">{attempt.url}</p>}
        <Headers headers={attempt.request_headers} />
        {attempt.request_body === null ? (
          <p class="muted">{t(wasRendered(attempt) ? "attempt.body.gone" : "attempt.request.none")}</p>
        ) : (
          <Sized body={attempt.request_body} label={t("attempt.body")} isCut={false} />
        )}
      </section>
      <section aria-label={t("attempt.response")}>
        <div class="exchange-head">
          <h3>{t("attempt.response")}</h3>
          {attempt.status_code !== null && <code>{attempt.status_code}</code>}
        </div>
        <Headers headers={attempt.response_headers} />
        {attempt.response_body === null ? (
          <p class="muted">
            {t(attempt.status_code === null ? "attempt.response.none" : "attempt.body.gone")}
          </p>
        ) : (
          <Sized body={attempt.response_body} label={t("attempt.body")} isCut={attempt.response_truncated} />
        )}
      </section>
    </div>
  );
}

/** Whether a request was made of the attempt: its headers are kept for longer than its body. */
function wasRendered({ request_headers: headers }: Attempt): boolean {
  return Object.keys(headers).length > 0;
}

function Headers({ headers }: { headers: Readonly<Record<string, string>> }): JSX.Element | null {
  const all = Object.entries(headers);
  if (all.length === 0) return null;
  return (
    <details class="headers">
      <summary>
        <Icon name="next" />
        {t("attempt.headers", { count: all.length })}
      </summary>
      <dl>
        {all.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

/** A body with its size, and whether it is all of it. */
function Sized({ body, label, isCut }: { body: string; label: string; isCut: boolean }): JSX.Element {
  const size = bytes(new TextEncoder().encode(body).length);
  return (
    <>
      <Body text={body} label={body === "" ? label : `${label} · ${size}`} />
      {isCut && (
        <p class="small cut-note">
          <Icon name="alert" />
          {t("attempt.truncated", { size })}
        </p>
      )}
    </>
  );
}
