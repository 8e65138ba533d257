import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { TextField } from "../components/field.tsx";
import { Icon } from "../components/icons.tsx";
import { t } from "../i18n.ts";
import { type Closed, open, readFragment } from "../session.ts";

/**
 * Nobody was sent here by a link: the key is what it is about. Whoever has a link has no key, and is
 * offered none.
 */
const WITH_KEY: readonly Closed[] = ["start", "unknown", "refused", "left"];

/** There is no token, or it opens nothing any more: what to do. */
export function ClosedPage({ why }: { why: Closed }): JSX.Element {
  // A page that frames us is not one to enter a key in.
  const isFramed = window.parent !== window;
  return (
    <main class="page closed">
      <Icon name="key" />
      <h1>{t(`closed.${why}.title`)}</h1>
      <p>{t(`closed.${why}.text`)}</p>
      {!isFramed && WITH_KEY.includes(why) && <KeyForm />}
    </main>
  );
}

/** The key goes into the memory of this page, and nowhere else. */
function KeyForm(): JSX.Element {
  const [key, setKey] = useState("");
  const [isWrong, setWrong] = useState(false);
  const submit = (event: Event) => {
    event.preventDefault();
    const { token } = readFragment(key.trim().replace(/^.*#/, ""));
    setWrong(token === null);
    if (token !== null) open(token);
  };
  return (
    <form onSubmit={submit}>
      <TextField
        label={t("closed.key.label")}
        type="password"
        value={key}
        onInput={setKey}
        help={t("closed.key.help")}
        error={isWrong ? t("closed.key.wrong") : null}
        mono
      />
      <Button kind="primary" type="submit">
        {t("closed.key.open")}
      </Button>
    </form>
  );
}
