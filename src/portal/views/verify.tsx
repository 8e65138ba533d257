import type { JSX } from "preact";
import type { SignatureVersion } from "../../core/model.ts";
import { Code } from "../components/code.tsx";
import { SelectField } from "../components/field.tsx";
import { Choice, Facts, Head, Section } from "../components/layout.tsx";
import { Failure, Skeleton } from "../components/states.tsx";
import { t } from "../i18n.ts";
import { setQuery } from "../router.ts";
import { receiverOf, type Snippet, SNIPPETS } from "../display/snippets.ts";
import type { Endpoint } from "../types.ts";
import type { ViewProps } from "../view.ts";
import { useEndpoints } from "./parts/endpoint-lists.ts";
import { optionsOf } from "./parts/endpoint-name.ts";
import { Checker } from "./verify/checker.tsx";

/** How a receiver knows that a delivery is genuine: with the reader's own endpoint filled in. */
export function Verify({ query }: ViewProps): JSX.Element {
  const { data, error } = useEndpoints(query["endpoint"] ?? null);
  if (error && !data) return <Failure error={error} />;
  if (!data) return <Skeleton rows={6} />;
  const endpoint = data.find(({ id }) => id === query["endpoint"]) ?? data[0] ?? null;
  return (
    <>
      <Head title={t("verify.title")} />
      <p class="lead">{t("verify.text")}</p>
      {endpoint && <Facts items={factsOf(endpoint, data)} />}
      <Receiver endpoint={endpoint} language={query["language"]} />
      <Checker key={endpoint?.id} endpoint={endpoint} />
    </>
  );
}

function factsOf(endpoint: Endpoint, all: Endpoint[]): [string, JSX.Element | string][] {
  const versions: Record<SignatureVersion, string> = { v1: t("verify.v1"), v1a: t("verify.v1a") };
  return [
    [
      t("delivery.endpoint"),
      <SelectField
        key="endpoint"
        label={t("verify.choose")}
        value={endpoint.id}
        onChange={(id) => setQuery({ endpoint: id })}
        options={optionsOf(all)}
      />,
    ],
    [t("verify.signed"), endpoint.signature_versions.map((version) => versions[version]).join(" · ")],
    [t("verify.headers"), <Names key="headers" />],
    [t("verify.window"), t("verify.window.text")],
  ];
}

function Names(): JSX.Element {
  return (
    <span class="names">
      <code>webhook-id</code>
      <code>webhook-timestamp</code>
      <code>webhook-signature</code>
    </span>
  );
}

interface ReceiverProps {
  endpoint: Endpoint | null;
  language: string | undefined;
}

function Receiver({ endpoint, language }: ReceiverProps): JSX.Element {
  const snippet = SNIPPETS.find(({ key }) => key === language) ?? SNIPPETS[0];
  const nameIn = ({ name, install }: Snippet) => (install === null ? t("verify.plain", { name }) : name);
  return (
    <Section title={t("verify.code")}>
      <Choice
        label={t("verify.language")}
        value={snippet.key}
        options={SNIPPETS.map((one) => ({ value: one.key, text: nameIn(one) }))}
        onChange={(key) => setQuery({ language: key })}
      />
      <div class="codes">
        {snippet.install && <Code text={snippet.install} label={t("verify.install")} />}
        <Code text={snippet.write(receiverOf(endpoint?.url ?? null))} label={nameIn(snippet)} />
      </div>
      <ul class="advice">
        <li>{t("verify.advice.secret")}</li>
        <li>{t("verify.advice.raw")}</li>
        <li>{t("verify.advice.twice")}</li>
        <li>{t("verify.advice.fast")}</li>
      </ul>
      {endpoint?.public_key && <Code text={endpoint.public_key} label={t("verify.public")} />}
    </Section>
  );
}
