import type { JSX } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { Icon } from "../../components/icons.tsx";
import { Choice } from "../../components/layout.tsx";
import { hour } from "../../display/format.ts";
import { t } from "../../i18n.ts";
import { useResource } from "../../resource.ts";
import { setQuery } from "../../router.ts";
import type { EventType, Page } from "../../types.ts";
import { optionsOf } from "../parts/endpoint-name.ts";
import { useEndpoints } from "../parts/endpoint-lists.ts";
import { type Filter, FILTER_KEYS, type Search, STATUSES, type Window } from "./filter.ts";

interface ChipsProps {
  filter: Filter;
  window: Window;
  search: Search | undefined;
}

/** One chip for each thing that narrows the list; one that is set says so, and is taken away by its cross. */
export function Chips({ filter, window, search }: ChipsProps): JSX.Element {
  const endpoints = useEndpoints(filter.endpoint);
  const types = useResource<Page<EventType>>("/v1/event-types?limit=250", { polls: false });
  const isSet = FILTER_KEYS.some((key) => here(filter)[key]);
  return (
    <div class="filter-chips">
      <Choice
        label={t("delivery.status")}
        value={filter.status ?? "all"}
        options={[
          { value: "all", text: t("endpoints.all") },
          ...STATUSES.map((value) => ({ value, text: t(`status.${value}`) })),
        ]}
        onChange={(value) => setQuery({ status: value === "all" ? null : value })}
      />
      <SelectChip
        name="endpoint"
        label={t("delivery.endpoint")}
        value={filter.endpoint}
        options={optionsOf(endpoints.data ?? [])}
      />
      <SelectChip
        name="type"
        label={t("delivery.type")}
        value={filter.type}
        options={(types.data?.data ?? []).map(({ name }) => ({ value: name, text: name }))}
      />
      <CodeChip code={filter.code} />
      <SetChips filter={filter} window={window} search={search} />
      {isSet && (
        <Button
          kind="quiet"
          onClick={() => setQuery(Object.fromEntries(FILTER_KEYS.map((key) => [key, null])))}
        >
          {t("deliveries.clear")}
        </Button>
      )}
    </div>
  );
}

/** What is narrowed elsewhere: in the chart, and by an id that was searched for. */
function SetChips({ filter, window, search }: ChipsProps): JSX.Element {
  return (
    <>
      {filter.range && (
        <Chip
          text={t("deliveries.chip.time", {
            from: hour(filter.range[0]),
            to: hour(filter.range[1] + window.width),
          })}
          onClear={() => setQuery({ from: null, to: null })}
        />
      )}
      {search?.kind === "event" && search.isExternal && (
        <Chip
          text={t("deliveries.chip.external", { id: filter.q ?? "" })}
          onClear={() => setQuery({ q: null })}
        />
      )}
    </>
  );
}

/** The filter as the address has it. */
function here({ range, ...filter }: Filter): Record<(typeof FILTER_KEYS)[number], unknown> {
  return { ...filter, from: range, to: range };
}

function Chip({ text, onClear }: { text: string; onClear: () => void }): JSX.Element {
  return (
    <span class="chip set">
      <span class="chip-text">{text}</span>
      <ClearButton what={text} onClear={onClear} />
    </span>
  );
}

function ClearButton({ what, onClear }: { what: string; onClear: () => void }): JSX.Element {
  return (
    <button
      type="button"
      class="chip-clear"
      aria-label={t("deliveries.chip.clear", { what })}
      onClick={onClear}
    >
      <Icon name="cross" />
    </button>
  );
}

interface SelectChipProps {
  name: (typeof FILTER_KEYS)[number];
  label: string;
  value: string | null;
  options: readonly { value: string; text: string }[];
}

function SelectChip({ name, label, value, options }: SelectChipProps): JSX.Element {
  const id = useId();
  const isKnown = value === null || options.some((option) => option.value === value);
  return (
    <span class={value === null ? "chip" : "chip set"}>
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value ?? ""}
        onChange={(event) => setQuery({ [name]: event.currentTarget.value })}
      >
        <option value="">{t("deliveries.chip.any")}</option>
        {!isKnown && <option value={value}>{value}</option>}
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
      {value !== null && <ClearButton what={label} onClear={() => setQuery({ [name]: null })} />}
    </span>
  );
}

const CODE = /^[1-9]\d\d$/;

/** The status that the receiver answered, once it has its three digits. */
function CodeChip({ code }: { code: string | null }): JSX.Element {
  const id = useId();
  const [text, setText] = useState(code ?? "");
  useEffect(() => setText(code ?? ""), [code]);
  const type = (value: string) => {
    const digits = value.replaceAll(/\D/g, "").slice(0, 3);
    setText(digits);
    if (CODE.test(digits)) setQuery({ code: digits });
    else if (code !== null) setQuery({ code: null });
  };
  return (
    <span class={code === null ? "chip" : "chip set"}>
      <label for={id}>{t("deliveries.chip.code")}</label>
      <input
        id={id}
        inputMode="numeric"
        autocomplete="off"
        placeholder={t("deliveries.chip.any")}
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
      />
      {code !== null && (
        <ClearButton what={t("deliveries.chip.code")} onClear={() => setQuery({ code: null })} />
      )}
    </span>
  );
}
