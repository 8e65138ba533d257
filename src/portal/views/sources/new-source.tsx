import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError, send } from "../../api.ts";
import { Button, LinkButton } from "../../components/button.tsx";
import { FormErrors, otherFaults } from "../../components/field.tsx";
import { Head, Section } from "../../components/layout.tsx";
import { Empty, Failure, Skeleton } from "../../components/states.tsx";
import { t } from "../../i18n.ts";
import { useResource } from "../../resource.ts";
import { may } from "../../session.ts";
import type { Page, Provider, Source } from "../../types.ts";
import { Progress, StepTitle } from "../parts/steps.tsx";
import { useUnsaved } from "../parts/unsaved.ts";
import { CheckForm } from "./check.tsx";
import { bodyOf, FieldsForm, POINTERS, type SourceFields } from "./fields-form.tsx";
import { called, isGeneric } from "./generic.ts";
import { LiveTest } from "./live-test.tsx";
import { fitting, ProviderPicker } from "./provider-picker.tsx";
import { SetUp } from "./set-up.tsx";
import { addressOf } from "./source-address.ts";

/**
 * A source in four steps: whose webhooks, what it is called, the provider's own set-up, and a first request.
 */
export function NewSource(): JSX.Element {
  const { data, error } = useResource<Page<Provider>>("/v1/providers", { polls: false });
  if (!may.manage) return <Empty title={t("sources.none.ask")} icon="info" />;
  if (error && !data) return <Failure error={error} />;
  return data ? <Wizard providers={data.data} /> : <Skeleton rows={6} />;
}

const STEPS = ["provider", "details", "setup", "test"] as const;
/** The source is there from this step on: there is no way back before it. */
const MADE_FROM = STEPS.indexOf("setup");

interface Draft {
  provider: Provider | null;
  /** What is searched for. */
  q: string;
  fields: SourceFields;
}

const BEGIN: Draft = { provider: null, q: "", fields: { name: "", consumer: "", rate: "", config: {} } };

type Made = Source & { secret: string };

function Wizard({ providers }: { providers: readonly Provider[] }): JSX.Element {
  const [draft, setDraft] = useState(BEGIN);
  const [made, setMade] = useState<Made | null>(null);
  const [at, setAt] = useState(0);
  useUnsaved(made === null && draft.provider !== null);
  const { provider } = draft;
  const start = (source: Made) => {
    setMade(source);
    setAt(MADE_FROM);
  };
  return (
    <>
      <Head title={t("newsource.title")} />
      <Progress
        steps={STEPS.map((step) => t(`newsource.${step}`))}
        at={at}
        onGo={setAt}
        from={made ? MADE_FROM : 0}
      />
      {made && provider ? (
        <MadeSteps made={made} provider={provider} at={at} onGo={setAt} />
      ) : (
        <DraftSteps
          providers={providers}
          draft={draft}
          onChange={setDraft}
          at={at}
          onGo={setAt}
          onMade={start}
        />
      )}
    </>
  );
}

interface DraftProps {
  providers: readonly Provider[];
  draft: Draft;
  onChange: (draft: Draft) => void;
  at: number;
  onGo: (step: number) => void;
  onMade: (source: Made) => void;
}

/** One that was named by hand keeps its name when another provider is chosen. */
function choose({ provider: before, fields, ...draft }: Draft, provider: Provider): Draft {
  const isNamed = fields.name !== "" && fields.name !== before?.name;
  const usual = isGeneric(provider) ? "" : provider.name;
  const name = isNamed ? fields.name : usual;
  return { ...draft, provider, fields: { ...fields, name, config: {} } };
}

/** What is entered, checked and sent: the provider first, then the rest. */
function useDraft({ providers, draft, onChange, at, onGo, onMade }: DraftProps) {
  const [error, setError] = useState<unknown>(null);
  const [isMissing, setMissing] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const pick = (one: Provider) => {
    setMissing(false);
    onChange(choose(draft, one));
  };
  const goOn = () => {
    // Enter in the search takes the first that fits.
    const [first] = draft.q.trim() === "" ? [] : fitting(providers, draft.q);
    const chosen = draft.provider ?? first;
    if (!chosen) return setMissing(true);
    if (!draft.provider) pick(chosen);
    onGo(1);
  };
  const create = async (chosen: Provider) => {
    setBusy(true);
    try {
      const body = { provider: chosen.key, ...bodyOf(draft.fields, chosen) };
      onMade(await send<Made>("POST", "/v1/sources", body));
    } catch (reason) {
      setError(reason);
      setBusy(false);
      if (reason instanceof ApiError && reason.faults.some(({ pointer }) => pointer === "/provider")) onGo(0);
    }
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (at === 0 || draft.provider === null) goOn();
    else void create(draft.provider);
  };
  const messages = isMissing ? [t("newsource.provider.missing")] : otherFaults(error, POINTERS);
  return { pick, submit, error, messages, isBusy };
}

function DraftSteps(props: DraftProps): JSX.Element {
  const { providers, draft, onChange, at, onGo } = props;
  const { pick, submit, error, messages, isBusy } = useDraft(props);
  const { provider } = draft;
  return (
    <form class="wizard" onSubmit={submit} key={at}>
      <StepTitle title={t(at === 0 ? "newsource.provider.title" : "newsource.details.title")} />
      <FormErrors messages={messages} />
      {at === 0 || provider === null ? (
        <ProviderPicker
          providers={providers}
          value={provider}
          q={draft.q}
          onSearch={(q) => onChange({ ...draft, q })}
          onChange={pick}
        />
      ) : (
        <Details
          provider={provider}
          fields={draft.fields}
          onChange={(fields) => onChange({ ...draft, fields })}
          error={error}
        />
      )}
      <div class={at === 0 ? "actions stays" : "actions form-end"}>
        {at > 0 && <Button onClick={() => onGo(0)}>{t("wizard.back")}</Button>}
        <Button kind="primary" type="submit" busy={isBusy}>
          {at === 0 ? t("wizard.next") : t("newsource.create")}
        </Button>
        {at === 0 && provider && (
          <span class="muted">{t("newsource.chosen", { provider: provider.name })}</span>
        )}
      </div>
    </form>
  );
}

interface DetailsProps {
  provider: Provider;
  fields: SourceFields;
  onChange: (fields: SourceFields) => void;
  error: unknown;
}

function Details({ provider, fields, onChange, error }: DetailsProps): JSX.Element {
  const sender = isGeneric(provider) ? t("newsource.service") : provider.name;
  return (
    <>
      <p class="notice wait">{t(`newsource.needs.${provider.secret_from}`, { provider: sender })}</p>
      <FieldsForm provider={provider} value={fields} onChange={onChange} error={error} />
    </>
  );
}

interface MadeProps {
  made: Made;
  provider: Provider;
  at: number;
  onGo: (step: number) => void;
}

/** The source is made; the provider has to learn of it. */
function MadeSteps({ made, provider: row, at, onGo }: MadeProps): JSX.Element {
  const provider = called(row, made);
  const { name } = provider;
  const { data: source = made } = useResource<Source>(`/v1/sources/${made.id}`);
  if (at === MADE_FROM) {
    return (
      <div class="wizard" key="setup">
        <StepTitle title={t("newsource.setup.title", { provider: name })} />
        <SetUp source={source} provider={provider} secret={made.secret} />
        <div class="actions form-end">
          <Button kind="primary" onClick={() => onGo(MADE_FROM + 1)}>
            {t("wizard.next")}
          </Button>
        </div>
      </div>
    );
  }
  return (
    <div class="wizard" key="test">
      <StepTitle title={t("live.title", { provider: name })} />
      <p class="muted">{t("live.text", { provider: name })}</p>
      <LiveTest source={source} provider={provider} />
      <Section title={t("check.title")}>
        <p class="muted">{t("check.text")}</p>
        <CheckForm source={source} provider={provider} />
      </Section>
      <div class="actions form-end">
        <Button onClick={() => onGo(MADE_FROM)}>{t("wizard.back")}</Button>
        <LinkButton kind="primary" href={addressOf(made, "overview", {})}>
          {t("newsource.open")}
        </LinkButton>
      </div>
    </div>
  );
}
