import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get } from "../../api.ts";
import { checkDelivery, type Finding } from "../../forms/check-delivery.ts";
import { Button } from "../../components/button.tsx";
import { TextField } from "../../components/field.tsx";
import { Icon } from "../../components/icons.tsx";
import { Section } from "../../components/layout.tsx";
import { messageOf } from "../../components/states.tsx";
import { toast } from "../../components/toast.tsx";
import { t } from "../../i18n.ts";
import { may } from "../../session.ts";
import type { Attempt, Delivery, Endpoint, Page } from "../../types.ts";

const EXAMPLE_HEADERS = "webhook-id: msg_…\nwebhook-timestamp: 1767950000\nwebhook-signature: v1,…";

/** What is judged: as it was pasted. */
type Pasted = Record<"secret" | "headers" | "body", string>;

/** Headers and a body that did not verify, pasted: it says why. Nothing of it is sent anywhere. */
export function Checker({ endpoint }: { endpoint: Endpoint | null }): JSX.Element {
  const [pasted, setPasted] = useState<Pasted>({ secret: "", headers: "", body: "" });
  const [findings, setFindings] = useState<Finding[] | null>(null);
  // What was found is of what stood there: a change takes it away.
  const change = (part: Partial<Pasted>) => {
    setPasted((before) => ({ ...before, ...part }));
    setFindings(null);
  };
  const check = async (event: Event) => {
    event.preventDefault();
    setFindings(await checkDelivery({ ...pasted, now: Date.now() }));
  };
  return (
    <Section title={t("verify.check")}>
      <p class="muted">{t("verify.check.text")}</p>
      <form class="checker" onSubmit={(event) => void check(event)}>
        {endpoint && <Take id={endpoint.id} onTake={change} />}
        <TextField
          label={t("verify.check.key")}
          help={t("verify.check.key.help")}
          type="password"
          value={pasted.secret}
          onInput={(secret) => change({ secret })}
          placeholder="whsec_…"
          mono
        />
        <TextField
          label={t("verify.check.headers")}
          rows={4}
          value={pasted.headers}
          onInput={(headers) => change({ headers })}
          placeholder={EXAMPLE_HEADERS}
          mono
        />
        <TextField
          label={t("verify.check.body")}
          rows={6}
          value={pasted.body}
          onInput={(body) => change({ body })}
          mono
        />
        <Button kind="primary" type="submit">
          {t("verify.check.run")}
        </Button>
      </form>
      <div aria-live="polite">{findings && <Findings findings={findings} />}</div>
    </Section>
  );
}

/** Fills in what is known of the endpoint, so that a first look needs nothing pasted. */
function Take({ id, onTake }: { id: string; onTake: (part: Partial<Pasted>) => void }): JSX.Element {
  const takeLast = async () => {
    const attempt = await lastAttempt(id);
    if (attempt === null) return toast(t("verify.check.nothing"), "bad");
    onTake({ headers: namedLines(attempt.request_headers), body: attempt.request_body ?? "" });
  };
  const takeSecret = async () => {
    const { secret } = await get<{ secret: string }>(`/v1/endpoints/${id}/secret`);
    onTake({ secret });
  };
  return (
    <div class="actions start">
      <Button icon="down" onClick={() => void orSay(takeLast())}>
        {t("verify.check.last")}
      </Button>
      {may.manage && (
        <Button icon="key" onClick={() => void orSay(takeSecret())}>
          {t("verify.check.secret")}
        </Button>
      )}
    </div>
  );
}

function Findings({ findings }: { findings: readonly Finding[] }): JSX.Element {
  const isGenuine = findings.every(({ isGood }) => isGood);
  return (
    <div class={isGenuine ? "notice good" : "notice bad"}>
      <p>
        <strong>{isGenuine ? t("verify.check.good") : t("verify.check.bad")}</strong>
      </p>
      <ul class="findings">
        {findings.map(({ key, isGood, values }) => (
          <li key={key + String(values["name"] ?? "")}>
            <Icon name={isGood ? "check" : "cross"} />
            <span>{t(`verify.found.${key}`, values)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

async function orSay(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    toast(messageOf(error), "bad");
  }
}

/** What was last sent to the endpoint, as it was sent; null where nothing was. */
async function lastAttempt(endpointId: string): Promise<Attempt | null> {
  const { data } = await get<Page<Delivery>>(`/v1/deliveries?endpoint_id=${endpointId}&limit=10`);
  const tried = data.find(({ attempt_count: count }) => count > 0);
  if (!tried) return null;
  const attempts = await get<Page<Attempt>>(`/v1/deliveries/${tried.id}/attempts`);
  return attempts.data.reduce((a, b) => (a.number > b.number ? a : b));
}

function namedLines(headers: Record<string, string>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
}
