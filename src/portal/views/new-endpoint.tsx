import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError, send } from "../api.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { Code } from "../components/code.tsx";
import { errorAt, FormErrors, otherFaults, TextField } from "../components/field.tsx";
import { Icon } from "../components/icons.tsx";
import { Head, Section } from "../components/layout.tsx";
import { Empty, Failure, Skeleton } from "../components/states.tsx";
import { fieldText, t } from "../i18n.ts";
import { useResource } from "../resource.ts";
import { to } from "../router.ts";
import { may } from "../session.ts";
import type { DestinationKind, Endpoint } from "../types.ts";
import { TestForm } from "./endpoint/test.tsx";
import { ConfigForm, configOf, type ConfigValues } from "./parts/config-form.tsx";
import { FilterStep, readFilter } from "./parts/filter-step.tsx";
import { Progress, StepTitle } from "./parts/steps.tsx";
import { TypePicker } from "./parts/type-picker.tsx";
import { useUnsaved } from "./parts/unsaved.ts";

/**
 * An endpoint in four steps: what kind, where, which events, which of these. Then a test, with its answer.
 */
export function NewEndpoint(): JSX.Element {
  const { data, error } = useResource<{ data: DestinationKind[] }>("/v1/destination-kinds", { polls: false });
  if (!may.create) return <Empty title={t("endpoints.none.ask")} icon="info" />;
  if (error && !data) return <Failure error={error} />;
  return data ? <Wizard kinds={data.data} /> : <Skeleton rows={6} />;
}

const STEPS = ["kind", "address", "types", "filter"] as const;
type Step = (typeof STEPS)[number];
/** Where the API's pointers lead back to. */
const PLACES: readonly [Step, readonly string[]][] = [
  ["kind", ["/kind"]],
  ["address", ["/url", "/config", "/description", "/consumer_id"]],
  ["types", ["/event_types"]],
  ["filter", ["/filter"]],
];

const ALL_POINTERS = PLACES.flatMap(([, pointers]) => pointers);

interface Draft {
  kind: string;
  description: string;
  consumer: string;
  config: ConfigValues;
  types: readonly string[] | null;
  filter: string;
}

const BEGIN: Draft = { kind: "http", description: "", consumer: "", config: {}, types: null, filter: "" };

type Made = Endpoint & { secret?: string };

function Wizard({ kinds }: { kinds: readonly DestinationKind[] }): JSX.Element {
  const [draft, setDraft] = useState(BEGIN);
  const [made, setMade] = useState<Made | null>(null);
  useUnsaved(made === null && draft !== BEGIN);
  const kind = kinds.find((one) => one.kind === draft.kind);
  if (made) return <Done endpoint={made} />;
  if (!kind) return <Skeleton rows={6} />;
  return (
    <>
      <Head title={t("wizard.title")} />
      <Steps
        kinds={kinds}
        kind={kind}
        draft={draft}
        change={(part) => setDraft({ ...draft, ...part })}
        onMade={setMade}
      />
    </>
  );
}

interface StepsProps extends Omit<StepBodyProps, "step" | "error"> {
  onMade: (endpoint: Made) => void;
}

function Steps({ kinds, kind, draft, change, onMade }: StepsProps): JSX.Element {
  const [step, setStep] = useState<Step>("kind");
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const at = STEPS.indexOf(step);
  const isLast = at === STEPS.length - 1;
  const goTo = (index: number) => setStep(STEPS[index] ?? "kind");
  const create = async () => {
    setBusy(true);
    try {
      onMade(await send<Made>("POST", "/v1/endpoints", bodyOf(draft, kind)));
    } catch (reason) {
      setError(reason);
      setStep(placeOf(reason));
      setBusy(false);
    }
  };
  const goOn = (event: Event) => {
    event.preventDefault();
    if (isLast) void create();
    else goTo(at + 1);
  };
  return (
    <>
      <Progress steps={STEPS.map((one) => t(`wizard.${one}`))} at={at} onGo={goTo} />
      <form class="wizard" onSubmit={goOn} key={step}>
        <StepTitle title={t(`wizard.${step}.title`)} />
        <FormErrors messages={otherFaults(error, ALL_POINTERS)} />
        <StepBody step={step} draft={draft} kinds={kinds} kind={kind} change={change} error={error} />
        <div class="actions form-end">
          {at > 0 && <Button onClick={() => goTo(at - 1)}>{t("wizard.back")}</Button>}
          <Button kind="primary" type="submit" busy={isBusy}>
            {isLast ? t("wizard.create") : t("wizard.next")}
          </Button>
        </div>
      </form>
    </>
  );
}

function bodyOf(draft: Draft, kind: DestinationKind): Record<string, unknown> {
  const filter = readFilter(draft.filter);
  return {
    kind: kind.kind,
    config: configOf(kind.fields, draft.config, new Set()),
    event_types: draft.types,
    ...(draft.description.trim() !== "" && { description: draft.description.trim() }),
    ...(draft.consumer.trim() !== "" && { consumer_id: draft.consumer.trim() }),
    ...(filter.value !== null && { filter: filter.value }),
  };
}

function placeOf(error: unknown): Step {
  const [first] = error instanceof ApiError ? error.faults : [];
  const found = PLACES.find(([, pointers]) => pointers.some((pointer) => first?.pointer.startsWith(pointer)));
  return found?.[0] ?? "address";
}

interface StepBodyProps {
  step: Step;
  draft: Draft;
  kinds: readonly DestinationKind[];
  kind: DestinationKind;
  change: (part: Partial<Draft>) => void;
  error: unknown;
}

function StepBody({ step, draft, kinds, kind, change, error }: StepBodyProps): JSX.Element {
  if (step === "kind") {
    return (
      <Kinds kinds={kinds} value={draft.kind} onChange={(chosen) => change({ kind: chosen, config: {} })} />
    );
  }
  if (step === "types") {
    return (
      <TypePicker
        value={draft.types}
        onChange={(types) => change({ types })}
        error={errorAt(error, "/event_types")}
      />
    );
  }
  if (step === "filter") {
    return (
      <FilterStep
        value={draft.filter}
        onChange={(filter) => change({ filter })}
        error={errorAt(error, "/filter")}
      />
    );
  }
  return <Address draft={draft} kind={kind} change={change} error={error} />;
}

function Kinds({
  kinds,
  value,
  onChange,
}: {
  kinds: readonly DestinationKind[];
  value: string;
  onChange: (kind: string) => void;
}): JSX.Element {
  return (
    <fieldset class="kinds">
      <legend class="hidden">{t("wizard.kind")}</legend>
      {kinds.map(({ kind, name }) => (
        <label key={kind} class="kind">
          <input
            type="radio"
            name="kind"
            value={kind}
            checked={value === kind}
            onChange={() => onChange(kind)}
          />
          <span>{fieldText(name)}</span>
        </label>
      ))}
    </fieldset>
  );
}

function Address({ draft, kind, change, error }: Omit<StepBodyProps, "step" | "kinds">): JSX.Element {
  return (
    <>
      {kind.fields.length === 0 && <p class="muted">{t("wizard.nofields")}</p>}
      <ConfigForm
        fields={kind.fields}
        values={draft.config}
        onChange={(config) => change({ config })}
        error={error}
      />
      <TextField
        label={t("settings.description")}
        optional={t("form.optional")}
        help={t("settings.description.help")}
        value={draft.description}
        onInput={(description) => change({ description })}
        error={errorAt(error, "/description")}
      />
      {may.seeSources && (
        <TextField
          label={t("wizard.consumer")}
          optional={t("form.optional")}
          help={t("wizard.consumer.help")}
          value={draft.consumer}
          onInput={(consumer) => change({ consumer })}
          error={errorAt(error, "/consumer_id")}
        />
      )}
    </>
  );
}

/** The endpoint is made: its secret, a test, and how to verify. */
function Done({ endpoint }: { endpoint: Made }): JSX.Element {
  const { secret } = endpoint;
  return (
    <>
      <Head title={t("wizard.done")}>
        <LinkButton href={to(`/endpoints/${endpoint.id}`)}>{t("wizard.open")}</LinkButton>
      </Head>
      <p class="notice good" role="status">
        <Icon name="check" />
        <span>{t("wizard.done.text")}</span>
      </p>
      {secret && (
        <Section title={t("secret.title")}>
          <p class="muted">
            {t("secret.text")} <a href={to("/verify", { endpoint: endpoint.id })}>{t("secret.verify")}</a>
          </p>
          {!may.manage && <p>{t("secret.once")}</p>}
          <Code text={secret} label={t("secret.label")} />
        </Section>
      )}
      {may.manage && (
        <Section title={t("test.title")}>
          <TestForm endpoint={endpoint} />
        </Section>
      )}
    </>
  );
}
