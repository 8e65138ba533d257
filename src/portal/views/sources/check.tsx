import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { send } from "../../api.ts";
import { type Answer, checkSample, type Sample, type Verdict } from "../../forms/check-sample.ts";
import { Button } from "../../components/button.tsx";
import { FormErrors, otherFaults, TextField } from "../../components/field.tsx";
import { Icon } from "../../components/icons.tsx";
import { Choice, Section } from "../../components/layout.tsx";
import { Time } from "../../components/time.tsx";
import { and } from "../../display/format.ts";
import { t } from "../../i18n.ts";
import { type RawFault, readHeaders, readRequest } from "../../display/raw-request.ts";
import type { Provider, RefusalReason, Source } from "../../types.ts";
import { LiveTest } from "./live-test.tsx";
import { explainRefusal, namedHeaders } from "./refusal.ts";
import type { SourceTabProps } from "./source-tab.ts";

/** Let the provider send something, or judge a request that was captured. */
export function CheckRequest({ source, provider }: SourceTabProps): JSX.Element {
  const { name } = provider;
  return (
    <>
      <Section title={t("live.title", { provider: name })}>
        <p class="muted">{t("live.text", { provider: name })}</p>
        <LiveTest source={source} provider={provider} />
      </Section>
      <Section title={t("check.title")}>
        <p class="muted">{t("check.text")}</p>
        <CheckForm source={source} provider={provider} />
      </Section>
    </>
  );
}

type Mode = "whole" | "parts";
type Pasted = Record<"whole" | "headers" | "body", string>;

interface FormProps {
  source: Source;
  provider: Provider;
}

/** The form as it stands, and what came of it: a change takes that away. */
function useCheck({ source }: FormProps) {
  const [mode, setMode] = useState<Mode>("whole");
  const [pasted, setPasted] = useState<Pasted>({ whole: "", headers: "", body: "" });
  const [fault, setFault] = useState<RawFault | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [found, setFound] = useState<{ verdict: Verdict; sample: Sample } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const forget = () => {
    setFault(null);
    setError(null);
    setFound(null);
  };
  const change = (part: Partial<Pasted>) => {
    setPasted((before) => ({ ...before, ...part }));
    forget();
  };
  const choose = (wanted: Mode) => {
    setMode(wanted);
    forget();
  };
  const run = async () => {
    forget();
    const sample = sampleOf(mode, pasted, source);
    if ("line" in sample) return setFault(sample);
    setBusy(true);
    const path = `/v1/sources/${source.id}/verify-sample`;
    try {
      setFound({ verdict: await checkSample(sample, (one) => send<Answer>("POST", path, one)), sample });
    } catch (reason) {
      setError(reason);
    }
    setBusy(false);
  };
  return { mode, choose, pasted, change, fault, error, found, isBusy, run };
}

function sampleOf(mode: Mode, pasted: Pasted, source: Source): Sample | RawFault {
  if (mode === "parts") {
    const headers = readHeaders(pasted.headers);
    return "line" in headers ? headers : { method: "POST", headers: headers.read, body: pasted.body };
  }
  const request = readRequest(pasted.whole);
  if ("line" in request) return request;
  const { search, ...sample } = request;
  // The address is ours, or as it was entered at the provider: what the request adds is its query.
  const { public_url: address = source.ingest_url } = source.config as { public_url?: string };
  return search === "" ? sample : { ...sample, url: address.split("?")[0] + search };
}

const EXAMPLE = "POST /ingest/src_… HTTP/1.1\ncontent-type: application/json\nx-signature: …\n\n{ … }";

export function CheckForm(props: FormProps): JSX.Element {
  const form = useCheck(props);
  const { mode, pasted, change } = form;
  const faultText =
    form.fault && (form.fault.line === 0 ? t("check.empty") : t("check.line", { line: form.fault.line }));
  const submit = (event: Event) => {
    event.preventDefault();
    void form.run();
  };
  return (
    <>
      <form class="checker" onSubmit={submit}>
        <FormErrors messages={otherFaults(form.error, [])} />
        <div class="field">
          <Choice
            label={t("check.mode")}
            value={mode}
            options={[
              { value: "whole", text: t("check.mode.whole") },
              { value: "parts", text: t("check.mode.parts") },
            ]}
            onChange={form.choose}
          />
        </div>
        <PasteFields mode={mode} pasted={pasted} change={change} fault={faultText} />
        <Button kind="primary" type="submit" busy={form.isBusy}>
          {t("verify.check.run")}
        </Button>
      </form>
      <div aria-live="polite">{form.found && <Found {...form.found} provider={props.provider} />}</div>
    </>
  );
}

interface PasteProps {
  mode: Mode;
  pasted: Pasted;
  change: (part: Partial<Pasted>) => void;
  fault: string | null;
}

function PasteFields({ mode, pasted, change, fault }: PasteProps): JSX.Element {
  if (mode === "whole") {
    return (
      <TextField
        label={t("check.whole")}
        help={t("check.whole.help")}
        rows={10}
        value={pasted.whole}
        onInput={(whole) => change({ whole })}
        placeholder={EXAMPLE}
        error={fault}
        mono
      />
    );
  }
  return (
    <>
      <TextField
        label={t("verify.check.headers")}
        help={t("check.headers.help")}
        rows={5}
        value={pasted.headers}
        onInput={(headers) => change({ headers })}
        error={fault}
        mono
      />
      <TextField
        label={t("verify.check.body")}
        rows={6}
        value={pasted.body}
        onInput={(body) => change({ body })}
        mono
      />
    </>
  );
}

interface FoundProps {
  verdict: Verdict;
  sample: Sample;
  provider: Provider;
}

function Found({ verdict, sample, provider }: FoundProps): JSX.Element {
  return (
    <div class="result">
      {verdict.verified ? (
        <Genuine verdict={verdict} provider={provider} />
      ) : (
        <Refused verdict={verdict} sample={sample} provider={provider} />
      )}
    </div>
  );
}

function Genuine({ verdict, provider }: Omit<FoundProps, "sample">): JSX.Element {
  const { reason, at, variant } = verdict;
  return (
    <div class={`notice ${at === null ? "good" : "wait"}`}>
      <Icon name={at === null ? "check" : "clock"} />
      <span>
        <strong>
          {reason === "handshake" ? t("check.handshake", { provider: provider.name }) : t("check.good")}
        </strong>
      </span>
      {at !== null && (
        <p>
          {t("check.old.before")} <Time at={at} />
          {t("check.old.after")}
        </p>
      )}
      {variant !== null && <p>{t(`check.variant.${variant}`)}</p>}
    </div>
  );
}

function Refused({ verdict, sample, provider }: FoundProps): JSX.Element {
  const reason = verdict.reason as RefusalReason;
  const said = explainRefusal(reason, provider);
  const given = new Set(Object.keys(sample.headers).map((name) => name.toLowerCase()));
  const missing = namedHeaders(provider).filter((name) => !given.has(name));
  return (
    <div class="notice bad">
      <Icon name="cross" />
      <span>
        <strong>{t("check.bad")}</strong> {said.what}
      </span>
      {reason === "missing_header" && missing.length > 0 && (
        <p>{t("check.missing", { headers: and(missing) })}</p>
      )}
      <p>{said.next}</p>
    </div>
  );
}
