import type { ComponentChildren, JSX } from "preact";
import { ApiError } from "../api.ts";
import { t } from "../i18n.ts";
import { refresh } from "../resource.ts";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icons.tsx";

/** Stands where content will, in its height, once it takes longer than 150 ms (style.css). */
export function Skeleton({ rows = 3, height = 48 }: { rows?: number; height?: number }): JSX.Element {
  return (
    <div class="skeleton" role="status">
      <span class="hidden">{t("loading")}</span>
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} style={{ height: `${height}px` }} />
      ))}
    </div>
  );
}

/** What will stand here, and the one next step. */
export function Empty({
  title,
  icon = "info",
  children,
}: {
  title: string;
  icon?: IconName;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty">
      <Icon name={icon} />
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** What failed, what to do, and the id to quote. */
export function Failure({ error }: { error: Error }): JSX.Element {
  const known = error instanceof ApiError ? error : null;
  const isGone = known?.status === 404;
  return (
    <div class="empty" role="alert">
      <Icon name="alert" />
      <p class="empty-title">{isGone ? t("error.gone") : t("error.title")}</p>
      <p>{known?.detail || t("error.unknown")}</p>
      {!isGone && (
        <Button icon="retry" onClick={refresh}>
          {t("error.retry")}
        </Button>
      )}
      {known?.requestId && (
        <p class="muted small">
          {t("error.request")} <code>{known.requestId}</code>
        </p>
      )}
    </div>
  );
}

/** The text of an error, for a toast. */
export function messageOf(error: unknown): string {
  return error instanceof ApiError ? (error.faults[0]?.detail ?? error.detail) : t("error.unknown");
}
