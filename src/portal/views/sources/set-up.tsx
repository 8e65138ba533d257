import type { ComponentChildren, JSX } from "preact";
import { Code } from "../../components/code.tsx";
import { Section } from "../../components/layout.tsx";
import { t } from "../../i18n.ts";
import { ownAddress } from "../../display/logo.ts";
import { may } from "../../session.ts";
import type { Provider, Source } from "../../types.ts";
import { SecretForm, SIGNING_SECRET } from "./secret-form.tsx";
import { addressOf } from "./source-address.ts";

interface SetUpProps {
  source: Source;
  provider: Provider;
  /** The source's own, where it was made just now: it is shown once. */
  secret: string | null;
}

/** The provider's own way, step by step: as its documentation page has it, from the same row. */
export function SetUp(props: SetUpProps): JSX.Element {
  const { source, provider } = props;
  const { name, setup } = provider;
  return (
    <>
      <ol class="guide">
        <Step title={t("setup.address", { provider: name })}>
          <Code text={enteredAddress(source)} label={t("source.address.label", { provider: name })} />
          <p lang="en">{setup.address_at}</p>
          {provider.needs_public_url && <p class="muted">{t("setup.address.signed")}</p>}
        </Step>
        <Step title={t(`setup.secret.${provider.secret_from}`, { provider: name })}>
          <SecretStep {...props} />
        </Step>
      </ol>
      <GoodToKnow provider={provider} />
    </>
  );
}

/** What was entered at the provider: behind a proxy it is another address than ours. */
function enteredAddress({ config, ingest_url: own }: Source): string {
  const { public_url: address } = config;
  return typeof address === "string" ? address : own;
}

function Step({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <li>
      <h2>{title}</h2>
      {children}
    </li>
  );
}

function SecretStep({ source, provider, secret }: SetUpProps): JSX.Element {
  const { fields, secret_from: from, setup } = provider;
  const isOurs = from === "source" && source.signing_secret === null;
  const others = fields.filter(({ name }) => name !== SIGNING_SECRET || from !== "source");
  const isEntered = source.status !== "awaiting_secret";
  const asks = others.length > 0 && !isEntered && may.manage;
  // The field says it too.
  const isSaid = asks && others.some(({ name }) => name === SIGNING_SECRET);
  return (
    <>
      {isOurs && secret && <Code text={secret} label={t("secret.label")} />}
      {isOurs && secret && <p class="muted">{t("setup.secret.once")}</p>}
      {!isSaid && <p lang="en">{setup.secret_at}</p>}
      {isOurs && !secret && may.manage && (
        <p class="muted">
          {t("setup.secret.gone")} <a href={addressOf(source, "secret", {})}>{t("source.goto.secret")}</a>
        </p>
      )}
      {others.length > 0 && isEntered && <p class="notice good">{t("setup.secret.entered")}</p>}
      {asks && <SecretForm source={source} fields={others} />}
      {from === "source" && secret && may.manage && <OwnSecret source={source} provider={provider} />}
    </>
  );
}

/** One that is in use there already. */
function OwnSecret({ source, provider }: Omit<SetUpProps, "secret">): JSX.Element {
  const fields = provider.fields.filter(({ name }) => name === SIGNING_SECRET);
  return (
    <details class="fold">
      <summary>{t("setup.secret.have", { provider: provider.name })}</summary>
      <SecretForm source={source} fields={fields.map((field) => ({ ...field, required: true }))} />
    </details>
  );
}

function GoodToKnow({ provider }: { provider: Provider }): JSX.Element {
  const { name, setup, handshakes, docs_url: docs } = provider;
  return (
    <Section title={t("setup.know")}>
      <ul class="bullets">
        {setup.pitfalls.map((text) => (
          <li key={text} lang="en">
            {text}
          </li>
        ))}
        {handshakes.length > 0 && <li>{t("setup.handshakes", { provider: name })}</li>}
        {!setup.is_checked && <li>{t("setup.unchecked", { provider: name })}</li>}
      </ul>
      <p class="links">
        <a href={ownAddress(docs) ?? "#"} target="_blank" rel="noreferrer">
          {t("setup.docs", { provider: name })}
        </a>
        {setup.page.startsWith("https://") && (
          <a href={setup.page} target="_blank" rel="noreferrer">
            {t("setup.page", { provider: name })}
          </a>
        )}
      </p>
    </Section>
  );
}
