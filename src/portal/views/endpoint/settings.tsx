import type { JSX } from "preact";
import { send } from "../../api.ts";
import { Button } from "../../components/button.tsx";
import { confirm } from "../../components/dialog.tsx";
import { errorAt, TextField } from "../../components/field.tsx";
import { Facts, Section } from "../../components/layout.tsx";
import { Skeleton } from "../../components/states.tsx";
import { and, number, span } from "../../display/format.ts";
import { t } from "../../i18n.ts";
import { useResource } from "../../resource.ts";
import { go, to } from "../../router.ts";
import { may } from "../../session.ts";
import type { DestinationKind, Endpoint } from "../../types.ts";
import { act } from "../parts/actions.ts";
import {
  ConfigForm,
  configFacts,
  configOf,
  type ConfigValues,
  MASK,
  valuesOf,
} from "../parts/config-form.tsx";
import { nameOf } from "../parts/endpoint-name.ts";
import { hasOtherHeaders, leadsElsewhere } from "./elsewhere.ts";
import { type HeaderRows, HeadersForm } from "../parts/headers-form.tsx";
import { SavedForm } from "../parts/saved-form.tsx";
import { TypePicker } from "../parts/type-picker.tsx";
import { Types } from "../parts/types.tsx";

/** Where it leads, what it gets, what goes along. Whoever only reads sees it as facts. */
export function EndpointSettings({ endpoint }: { endpoint: Endpoint }): JSX.Element {
  const { data } = useResource<{ data: DestinationKind[] }>("/v1/destination-kinds", { polls: false });
  const kind = data?.data.find((one) => one.kind === endpoint.kind);
  if (!kind) return <Skeleton rows={5} />;
  return (
    <>
      {may.manage ? (
        <SettingsForm endpoint={endpoint} kind={kind} />
      ) : (
        <Read endpoint={endpoint} kind={kind} />
      )}
      <Section title={t("settings.sending")}>
        <Sending endpoint={endpoint} />
      </Section>
      {may.create && <DeletePart endpoint={endpoint} />}
    </>
  );
}

const POINTERS = ["/description", "/config", "/url", "/event_types", "/headers"];

interface SettingsFormProps {
  endpoint: Endpoint;
  kind: DestinationKind;
}

interface Form {
  description: string;
  config: ConfigValues;
  types: readonly string[] | null;
  headers: HeaderRows;
}

function formOf(endpoint: Endpoint): Form {
  return {
    description: endpoint.description ?? "",
    config: valuesOf(endpoint.config).values,
    types: endpoint.event_types,
    headers: Object.entries(endpoint.headers),
  };
}

/** True where the form asks for what is stored again. */
function asksAgain({ endpoint, kind }: SettingsFormProps, { config, headers }: Form): boolean {
  const hasStored = [...Object.values(endpoint.config), ...Object.values(endpoint.headers)].includes(MASK);
  if (!hasStored || may.moveCredentials) return false;
  return leadsElsewhere(kind, endpoint.config, config) || hasOtherHeaders(endpoint.headers, headers, MASK);
}

function bodyOf(props: SettingsFormProps, form: Form): Record<string, unknown> {
  const { fields } = props.kind;
  const stored = asksAgain(props, form) ? new Set<string>() : valuesOf(props.endpoint.config).stored;
  return {
    description: form.description.trim() || null,
    event_types: form.types,
    headers: Object.fromEntries(form.headers.filter(([name]) => name !== "")),
    ...(fields.length > 0 && { config: configOf(fields, form.config, stored) }),
  };
}

function SettingsForm(props: SettingsFormProps): JSX.Element {
  const { endpoint, kind } = props;
  return (
    <SavedForm
      initial={() => formOf(endpoint)}
      path={`/v1/endpoints/${endpoint.id}`}
      bodyOf={(form) => bodyOf(props, form)}
      saved={t("settings.saved")}
      pointers={POINTERS}
    >
      {(form, setForm, error) => {
        const change = (part: Partial<Form>) => setForm({ ...form, ...part });
        const again = asksAgain(props, form);
        return (
          <>
            <TextField
              label={t("settings.description")}
              optional={t("form.optional")}
              help={t("settings.description.help")}
              value={form.description}
              onInput={(description) => change({ description })}
              error={errorAt(error, "/description")}
            />
            <ConfigForm
              fields={kind.fields}
              values={form.config}
              stored={valuesOf(endpoint.config).stored}
              asksAgain={again}
              onChange={(config) => change({ config })}
              error={error}
            />
            {again && <Elsewhere />}
            <TypePicker
              value={form.types}
              onChange={(types) => change({ types })}
              error={errorAt(error, "/event_types")}
            />
            <HeadersForm
              rows={form.headers}
              asksAgain={again}
              onChange={(headers) => change({ headers })}
              error={error}
            />
          </>
        );
      }}
    </SavedForm>
  );
}

function Elsewhere(): JSX.Element {
  return (
    <p class="notice warn" role="status">
      {t("settings.elsewhere")}
    </p>
  );
}

function Read({ endpoint, kind }: { endpoint: Endpoint; kind: DestinationKind }): JSX.Element {
  const headers = Object.entries(endpoint.headers).map(([name, value]) => `${name}: ${value}`);
  return (
    <Facts
      items={[
        [t("settings.kind"), kind.name],
        ...configFacts(kind.fields, endpoint.config),
        [t("endpoints.types"), <Types key="types" types={endpoint.event_types} />],
        [t("headers.legend"), headers.length === 0 ? "–" : <code key="headers">{headers.join("\n")}</code>],
      ]}
    />
  );
}

/** How it is sent: set by whoever runs the service. */
function Sending({ endpoint }: { endpoint: Endpoint }): JSX.Element {
  const {
    retry,
    timeout_seconds: timeout,
    rate_limit_per_second: rate,
    max_concurrency: most,
    ordering,
  } = endpoint;
  return (
    <Facts
      items={[
        [
          t("settings.retry"),
          retry === null ? t("settings.retry.usual") : and(retry.schedule.map(span)) || "–",
        ],
        [t("settings.timeout"), span(timeout)],
        [
          t("settings.rate"),
          rate === null ? t("settings.rate.none") : t("settings.rate.some", { count: rate }),
        ],
        [t("settings.most"), number(most)],
        [t("settings.order"), ordering === "fifo" ? t("settings.order.fifo") : t("settings.order.none")],
      ]}
    />
  );
}

function DeletePart({ endpoint }: { endpoint: Endpoint }): JSX.Element {
  const name = nameOf(endpoint);
  const remove = async () => {
    const question = {
      title: t("delete.title", { name }),
      body: t("delete.text"),
      action: t("delete.action"),
      danger: true,
    };
    if (!(await confirm(question))) return;
    if (await act(() => send("DELETE", `/v1/endpoints/${endpoint.id}`), t("delete.done")))
      go(to("/endpoints"));
  };
  return (
    <Section title={t("delete.section")}>
      <p class="muted">{t("delete.text")}</p>
      <p class="form-end">
        <Button kind="danger" onClick={() => void remove()}>
          {t("delete.action")}
        </Button>
      </p>
    </Section>
  );
}
