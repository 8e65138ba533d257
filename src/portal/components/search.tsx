import type { JSX } from "preact";
import { Icon } from "./icons.tsx";

interface SearchFieldProps {
  /** Read by screen readers, and shown while it is empty. */
  label: string;
  value: string;
  onInput: (value: string) => void;
  maxLength?: number;
  /** Within a form: the key `/` leads elsewhere. */
  isInner?: boolean;
}

/** Narrows what stands below it. */
export function SearchField({ label, value, onInput, maxLength, isInner }: SearchFieldProps): JSX.Element {
  return (
    <label class="search">
      <span class="hidden">{label}</span>
      <Icon name="search" />
      <input
        type="search"
        data-search={isInner ? undefined : true}
        maxLength={maxLength}
        placeholder={label}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}
