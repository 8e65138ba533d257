import type { ComponentChildren, JSX } from "preact";
import { LinkButton } from "../../components/button.tsx";
import { Code } from "../../components/code.tsx";
import { Icon } from "../../components/icons.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n.ts";
import { may } from "../../session.ts";
import { explainRefusal, isRefusing, REMEDIES } from "./refusal.ts";
import { addressOf } from "./source-address.ts";
import type { SourceTabProps } from "./source-tab.ts";

/** How the source stands, in a sentence, and the one next step. */
export function Trouble(props: SourceTabProps): JSX.Element {
  const { source, provider, stats } = props;
  const { name } = provider;
  if (source.pending_verification_token !== null) return <PendingToken {...props} />;
  if (source.status === "awaiting_secret") {
    const isBrought = provider.secret_from === "provider" && provider.fields.length === 0;
    return (
      <Notice tone="warn" {...props} to={isBrought ? "setup" : "secret"}>
        <p>{t(isBrought ? "source.awaiting.brought" : "source.awaiting.entered", { provider: name })}</p>
      </Notice>
    );
  }
  if (source.status === "paused") {
    return (
      <div class="notice wait" role="status">
        <p>{t("source.paused.text", { provider: name })}</p>
      </div>
    );
  }
  if (isRefusing(source, stats)) return <Refusing {...props} />;
  if (stats.last_received_at === null) {
    return (
      <Notice tone="wait" {...props} to="setup">
        <p>
          {stats.last_handshake_at === null
            ? t("source.nothing", { provider: name })
            : t("source.handshake.only", { provider: name })}
        </p>
      </Notice>
    );
  }
  return (
    <p class="notice good">
      <Icon name="check" />
      <span>
        {t("source.well")} <Time at={stats.last_received_at} />
      </span>
    </p>
  );
}

interface NoticeProps extends SourceTabProps {
  tone: "warn" | "wait" | "bad";
  /** The tab where something can be done about it; null: nowhere. */
  to: "setup" | "secret" | "check" | "settings" | null;
  children: ComponentChildren;
}

function Notice({ tone, to, children, source, query }: NoticeProps): JSX.Element {
  // People who only read have the set-up alone.
  const isOpen = to !== null && (may.manage || to === "setup");
  return (
    <div class={`notice ${tone}`} role="status">
      {children}
      {isOpen && <LinkButton href={addressOf(source, to, query)}>{t(`source.goto.${to}`)}</LinkButton>}
    </div>
  );
}

function Refusing(props: SourceTabProps): JSX.Element {
  const { provider, stats } = props;
  const { reason, at } = stats.last_rejected ?? { reason: "malformed", at: "" };
  const said = explainRefusal(reason, provider);
  return (
    <Notice tone="bad" {...props} to={REMEDIES[reason]}>
      <p>
        <strong>
          {t("source.refusing.last")} <Time at={at} />.
        </strong>{" "}
        {said.what}
      </p>
      <p>{said.next}</p>
    </Notice>
  );
}

function PendingToken({ source, provider }: SourceTabProps): JSX.Element {
  const { pending_verification_token: token } = source;
  return (
    <div class="notice warn" role="status">
      <p>{t("source.token.text", { provider: provider.name })}</p>
      {token !== null && (
        <div class="grows">
          <Code text={token} label={t("source.token")} />
        </div>
      )}
    </div>
  );
}
