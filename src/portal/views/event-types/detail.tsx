import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Badge } from "../../components/badge.tsx";
import { LinkButton } from "../../components/button.tsx";
import { Json } from "../../components/code.tsx";
import { Choice, Section } from "../../components/layout.tsx";
import { Failure, Skeleton } from "../../components/states.tsx";
import { t } from "../../i18n.ts";
import { useResource } from "../../resource.ts";
import { to } from "../../router.ts";
import { saysMore, type SchemaRow, schemaRows } from "../../forms/schema-rows.ts";
import { may } from "../../session.ts";
import type { Endpoint, EventType } from "../../types.ts";
import { nameOf } from "../parts/endpoint-name.ts";
import { useEndpoints } from "../parts/endpoint-lists.ts";
import { TrySend } from "./try-send.tsx";

/** One type: what it means, its fields, an example, who receives it, and the example sent to an endpoint. */
export function EventTypeDetail({ name }: { name: string }): JSX.Element {
  const path = `/v1/event-types/${encodeURIComponent(name)}`;
  const { data: type, error } = useResource<EventType>(path, { polls: false });
  const { data: endpoints } = useEndpoints(null);
  if (error && !type) return <Failure error={error} />;
  if (!type) return <Skeleton rows={6} />;
  return (
    <article aria-label={name}>
      <div class="detail-head">
        <div class="detail-title">
          <h1 class="mono">{name}</h1>
          {type.group && <Badge tone="idle" icon="dot" text={type.group} />}
          {type.archived && <Badge tone="warn" icon="stop" text={t("catalogue.archived")} />}
        </div>
        {type.description && <p>{type.description}</p>}
      </div>
      <Receivers name={name} endpoints={endpoints} />
      <Fields schema={type.schema} />
      <Example type={type} />
      {may.manage && endpoints && endpoints.length > 0 && (
        <TrySend name={name} endpoints={byFit(endpoints, name)} hasExample={type.example !== null} />
      )}
    </article>
  );
}

/** Whether an endpoint subscribes to it: by its name, by a pattern above it, or to everything. */
function takes({ event_types: types }: Endpoint, name: string): boolean {
  if (types === null) return true;
  return types.some(
    (pattern) =>
      pattern === "*" ||
      pattern === name ||
      (pattern.endsWith(".*") && name.startsWith(pattern.slice(0, -1))),
  );
}

/** Endpoints that would get the type come first, and of them those that are not paused. */
function byFit(endpoints: readonly Endpoint[], name: string): Endpoint[] {
  const rank = (one: Endpoint) => (takes(one, name) ? 0 : 2) + (one.status === "active" ? 0 : 1);
  return endpoints.toSorted((a, b) => rank(a) - rank(b));
}

const SHOWN = 5;

function Receivers({
  name,
  endpoints,
}: {
  name: string;
  endpoints: Endpoint[] | undefined;
}): JSX.Element | null {
  if (endpoints === undefined) return null;
  const takers = endpoints.filter((endpoint) => takes(endpoint, name));
  if (takers.length === 0) {
    return (
      <div class="notice wait">
        <p>{t("catalogue.notaken")}</p>
        {may.create && (
          <LinkButton icon="plus" href={to("/endpoints/new")}>
            {t("endpoints.add")}
          </LinkButton>
        )}
      </div>
    );
  }
  return (
    <p class="takers">
      <span class="muted">{t("catalogue.takers")}</span>
      {takers.slice(0, SHOWN).map((endpoint) => (
        <a key={endpoint.id} href={to(`/endpoints/${endpoint.id}`)}>
          {nameOf(endpoint)}
        </a>
      ))}
      {takers.length > SHOWN && (
        <span class="muted">{t("catalogue.more", { count: takers.length - SHOWN })}</span>
      )}
    </p>
  );
}

type Shape = "table" | "json";

function Fields({ schema }: { schema: EventType["schema"] }): JSX.Element {
  const [shape, setShape] = useState<Shape>("table");
  if (schema === null) {
    return (
      <Section title={t("catalogue.fields")}>
        <p class="muted">{t("catalogue.noschema")}</p>
      </Section>
    );
  }
  const rows = schemaRows(schema);
  const choice = (
    <Choice<Shape>
      label={t("catalogue.fields")}
      value={shape}
      options={[
        { value: "table", text: t("catalogue.table") },
        { value: "json", text: t("catalogue.json") },
      ]}
      onChange={setShape}
    />
  );
  return (
    <Section title={t("catalogue.fields")} actions={choice}>
      {shape === "json" || rows.length === 0 ? (
        <Json value={schema} label={t("catalogue.schema")} />
      ) : (
        <>
          <FieldTable rows={rows} />
          {saysMore(schema) && <p class="muted small">{t("catalogue.saysmore")}</p>}
        </>
      )}
    </Section>
  );
}

function FieldTable({ rows }: { rows: SchemaRow[] }): JSX.Element {
  return (
    <div class="table-frame">
      <table class="table fields">
        <caption class="hidden">{t("catalogue.fields")}</caption>
        <thead>
          <tr>
            <th scope="col">{t("catalogue.field")}</th>
            <th scope="col">{t("catalogue.type")}</th>
            <th scope="col">{t("catalogue.meaning")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.path}>
              <th scope="row">
                <code class="path">{row.path}</code>
                <span class={row.isRequired ? "small strong" : "small muted"}>
                  {row.isRequired ? t("catalogue.required") : t("catalogue.optional")}
                </span>
              </th>
              <td data-title={t("catalogue.type")}>{typeOf(row)}</td>
              <td
                data-title={t("catalogue.meaning")}
                class={row.description === null && row.rules.length === 0 ? "blank" : undefined}
              >
                <span class="meaning">
                  {row.description}
                  {row.rules.map(([name, value]) => (
                    <span key={name} class="rule">
                      <span class="muted">{name}</span> <code>{value}</code>
                    </span>
                  ))}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The names of JSON Schema stay as they are: they stand in code too. */
function typeOf({ types, isList }: SchemaRow): string {
  const names = types.length === 0 ? t("catalogue.anything") : types.join(" | ");
  return isList ? t("catalogue.listof", { type: names }) : names;
}

/** As it arrives: in the envelope, with any moment for a timestamp. */
function Example({ type: { name, example, updated_at: at } }: { type: EventType }): JSX.Element {
  return (
    <Section title={t("catalogue.example")}>
      {example === null ? (
        <p class="muted">{t("catalogue.noexample")}</p>
      ) : (
        <Json value={{ type: name, timestamp: at, data: example }} label={t("catalogue.body")} />
      )}
    </Section>
  );
}
