import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { Json } from "../../components/code.tsx";
import { Skeleton } from "../../components/states.tsx";
import { Icon } from "../../components/icons.tsx";
import { TextField } from "../../components/field.tsx";
import { SearchField } from "../../components/search.tsx";
import { t } from "../../i18n.ts";
import { useResource } from "../../resource.ts";
import type { EventType, Page } from "../../types.ts";

interface TypePickerProps {
  /** null: all events. */
  value: readonly string[] | null;
  onChange: (value: readonly string[] | null) => void;
  error: string | null;
}

/**
 * Which events: all, or those of a searchable tree by group, each with its description and example, and
 * patterns of one's own.
 */
export function TypePicker({ value, onChange, error }: TypePickerProps): JSX.Element {
  const name = useId();
  const { data } = useResource<Page<EventType>>("/v1/event-types?limit=250", { polls: false });
  const known = data?.data.filter(({ archived }) => !archived);
  return (
    <fieldset class="picker">
      <legend>{t("types.legend")}</legend>
      <label class="radio">
        <input type="radio" name={name} checked={value === null} onChange={() => onChange(null)} />
        <span>
          <strong>{t("types.all")}</strong>
          <span class="muted small">{t("types.all.help")}</span>
        </span>
      </label>
      <label class="radio">
        <input type="radio" name={name} checked={value !== null} onChange={() => onChange([])} />
        <span>
          <strong>{t("types.some")}</strong>
          <span class="muted small">{t("types.some.help")}</span>
        </span>
      </label>
      {error && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
      {value !== null &&
        (known ? <Chosen value={value} known={known} onChange={onChange} /> : <Skeleton rows={3} />)}
    </fieldset>
  );
}

interface ChosenProps {
  value: readonly string[];
  known: readonly EventType[];
  onChange: (value: readonly string[]) => void;
}

function Chosen({ value, known, onChange }: ChosenProps): JSX.Element {
  const [wanted, setWanted] = useState("");
  const text = wanted.toLowerCase();
  const found = known.filter(({ name, description }) =>
    `${name} ${description ?? ""}`.toLowerCase().includes(text),
  );
  const names = new Set(known.map(({ name }) => name));
  const groups = Map.groupBy(found, ({ group }) => group ?? "");
  const toggle = (types: readonly string[], isOn: boolean) =>
    onChange([...value.filter((one) => !types.includes(one)), ...(isOn ? types : [])]);
  return (
    <div class="tree">
      {known.length > 0 && (
        <SearchField label={t("types.search")} value={wanted} onInput={setWanted} isInner />
      )}
      {[...groups].map(([group, types]) => (
        <Group key={group} name={group} types={types} value={value} onToggle={toggle} />
      ))}
      {known.length > 0 && found.length === 0 && <p class="muted">{t("types.nomatch")}</p>}
      <Patterns
        value={value.filter((one) => !names.has(one))}
        onToggle={toggle}
        isAlone={known.length === 0}
      />
    </div>
  );
}

type Toggle = (types: readonly string[], isOn: boolean) => void;

interface GroupProps {
  name: string;
  types: readonly EventType[];
  value: readonly string[];
  onToggle: Toggle;
}

function Group({ name, types, value, onToggle }: GroupProps): JSX.Element {
  const all = types.map((type) => type.name);
  const chosen = all.filter((one) => value.includes(one)).length;
  const title = name === "" ? t("types.nogroup") : name;
  return (
    <div class="group" role="group" aria-label={title}>
      <label class="check-line strong">
        <input
          type="checkbox"
          checked={chosen === all.length}
          ref={(input) => {
            if (input) input.indeterminate = chosen > 0 && chosen < all.length;
          }}
          onChange={(event) => onToggle(all, event.currentTarget.checked)}
        />
        {title}
        <span class="muted small">{t("types.chosen", { chosen, count: all.length })}</span>
      </label>
      <ul>
        {types.map((type) => (
          <TypeLine key={type.name} type={type} isOn={value.includes(type.name)} onToggle={onToggle} />
        ))}
      </ul>
    </div>
  );
}

function TypeLine({
  type,
  isOn,
  onToggle,
}: {
  type: EventType;
  isOn: boolean;
  onToggle: Toggle;
}): JSX.Element {
  return (
    <li>
      <label class="check-line">
        <input
          type="checkbox"
          checked={isOn}
          onChange={(event) => onToggle([type.name], event.currentTarget.checked)}
        />
        <span>
          <code>{type.name}</code>
          {type.description && <span class="muted small">{type.description}</span>}
        </span>
      </label>
      {type.example && (
        <details class="example">
          <summary>
            {t("types.example")} <span class="hidden">{type.name}</span>
          </summary>
          <Json value={type.example} label={type.name} />
        </details>
      )}
    </li>
  );
}

interface PatternsProps {
  /** Subscribed to, and no described type: wildcards, and names that nobody has described. */
  value: readonly string[];
  onToggle: Toggle;
  isAlone: boolean;
}

function Patterns({ value, onToggle, isAlone }: PatternsProps): JSX.Element {
  const [text, setText] = useState("");
  const add = () => {
    const pattern = text.trim();
    if (pattern === "") return;
    onToggle([pattern], true);
    setText("");
  };
  return (
    <div class="patterns">
      {value.length > 0 && (
        <ul class="chips">
          {value.map((pattern) => (
            <li key={pattern}>
              <code>{pattern}</code>
              <button
                type="button"
                aria-label={t("types.remove", { type: pattern })}
                onClick={() => onToggle([pattern], false)}
              >
                <Icon name="cross" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <div class="add-line">
        <TextField
          label={t(isAlone ? "types.pattern.alone" : "types.pattern")}
          help={t("types.pattern.help")}
          value={text}
          onInput={setText}
          placeholder="invoice.*"
          mono
        />
        <Button icon="plus" onClick={add}>
          {t("types.pattern.add")}
        </Button>
      </div>
    </div>
  );
}
