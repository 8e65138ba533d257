import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { onEscape } from "../keys.ts";
import { go } from "../router.ts";
import { t } from "../i18n.ts";
import { Icon } from "./icons.tsx";

/**
 * The head of a view: its one `h1`, and what can be done. `isBeside`: what is open beside it has the `h1`.
 */
export function Head({
  title,
  isBeside = false,
  children,
}: {
  title: ComponentChildren;
  isBeside?: boolean;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="view-head">
      {isBeside ? <h2 class="title">{title}</h2> : <h1>{title}</h1>}
      {children && <div class="actions">{children}</div>}
    </div>
  );
}

/** A titled part of a view. */
export function Section({
  title,
  actions,
  children,
}: {
  title: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <section class="section" aria-label={title}>
      <div class="section-head">
        <h2>{title}</h2>
        {actions && <div class="actions">{actions}</div>}
      </div>
      {children}
    </section>
  );
}

export interface TabItem {
  title: string;
  href: string;
  isOpen: boolean;
}

/** Tabs that are addresses: links in a row, which scrolls where it is too narrow, to the one that is open. */
export function Tabs({ items, label }: { items: readonly TabItem[]; label: string }): JSX.Element {
  const row = useRef<HTMLUListElement>(null);
  const open = items.find(({ isOpen }) => isOpen)?.href;
  useEffect(() => {
    if (row.current) showOpen(row.current);
  }, [open]);
  return (
    <nav class="tabs" aria-label={label}>
      <ul ref={row}>
        {items.map(({ title, href, isOpen }) => (
          <li key={href}>
            <a href={href} aria-current={isOpen ? "page" : undefined}>
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** Sideways alone: the page stays where it is. */
function showOpen(row: HTMLElement): void {
  const item = row.querySelector("[aria-current]")?.getBoundingClientRect();
  if (!item) return;
  const seen = row.getBoundingClientRect();
  if (item.left < seen.left) row.scrollLeft += item.left - seen.left;
  else if (item.right > seen.right) row.scrollLeft += item.right - seen.right;
}

/** Two or three choices of which one holds. */
export function Choice<Value extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: Value;
  options: readonly { value: Value; text: string }[];
  onChange: (value: Value) => void;
}): JSX.Element {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.text}
        </button>
      ))}
    </div>
  );
}

interface SplitProps {
  list: ComponentChildren;
  /** null: the list stands alone. */
  detail: ComponentChildren | null;
  /** Address of the list alone, where Esc and the way back lead. */
  back: string;
  backText: string;
}

const CURRENT = "[data-row][aria-current]";

/**
 * A list, and what is open of it: beside it from 960 px on, in its place below. Esc leads back to the row.
 */
export function Split({ list, detail, back, backText }: SplitProps): JSX.Element {
  const isOpen = detail !== null;
  useEffect(() => {
    if (!isOpen) return undefined;
    document.querySelector(CURRENT)?.scrollIntoView({ block: "nearest" });
    return onEscape(() => {
      const row = document.querySelector(CURRENT)?.getAttribute("href");
      go(back);
      requestAnimationFrame(() => {
        const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")];
        rows.find((one) => one.getAttribute("href") === row)?.focus();
      });
    });
  }, [isOpen, back]);
  return (
    <div class={isOpen ? "split open" : "split"}>
      <div class="split-list">{list}</div>
      {isOpen && (
        <div class="split-detail">
          <a class="back" href={back}>
            <Icon name="back" />
            {backText}
          </a>
          {detail}
        </div>
      )}
    </div>
  );
}

/** Facts as pairs of a name and a value. */
export function Facts({ items }: { items: readonly (readonly [string, ComponentChildren])[] }): JSX.Element {
  return (
    <dl class="facts">
      {items.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** What a list shows; `isOld`: it is searched or filtered anew, and these are the rows of before. */
export function Listing({ isOld, children }: { isOld: boolean; children: ComponentChildren }): JSX.Element {
  return (
    <div class="listing" aria-busy={isOld}>
      {children}
    </div>
  );
}

/** The button under a list that goes on. */
export function More({ more }: { more: (() => void) | null }): JSX.Element | null {
  if (more === null) return null;
  return (
    <p class="more">
      <button type="button" class="button plain" onClick={more}>
        {t("list.more")}
      </button>
    </p>
  );
}
