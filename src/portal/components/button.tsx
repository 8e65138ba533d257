import type { ComponentChildren, JSX } from "preact";
import { Icon, type IconName } from "./icons.tsx";

interface Look {
  /** `primary` once in a view; `danger` for what cannot be taken back. */
  kind?: "primary" | "plain" | "quiet" | "danger";
  icon?: IconName;
  children: ComponentChildren;
}

type ButtonProps = Look & {
  onClick?: () => void;
  /** While it works: it keeps its place and takes no second click. */
  busy?: boolean;
  type?: "button" | "submit";
  label?: string;
  pressed?: boolean;
};

export function Button({
  kind = "plain",
  icon,
  children,
  busy,
  onClick,
  type = "button",
  label,
  pressed,
}: ButtonProps): JSX.Element {
  return (
    <button
      class={`button ${kind}`}
      type={type}
      aria-busy={busy ? "true" : undefined}
      aria-label={label}
      aria-pressed={pressed}
      onClick={() => !busy && onClick?.()}
    >
      {icon && <Icon name={icon} />}
      <span>{children}</span>
    </button>
  );
}

/** Looks like a button and leads somewhere. */
export function LinkButton({ kind = "plain", icon, children, href }: Look & { href: string }): JSX.Element {
  return (
    <a class={`button ${kind}`} href={href}>
      {icon && <Icon name={icon} />}
      <span>{children}</span>
    </a>
  );
}
