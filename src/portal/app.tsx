import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { isOffline } from "./api.ts";
import { Button } from "./components/button.tsx";
import { Dialog, Questions } from "./components/dialog.tsx";
import { Icon } from "./components/icons.tsx";
import { Head, Tabs } from "./components/layout.tsx";
import { Failure, Skeleton } from "./components/states.tsx";
import { Time } from "./components/time.tsx";
import { Toasts } from "./components/toast.tsx";
import { LANGUAGES, language, t } from "./i18n.ts";
import { isHelpOpen } from "./keys.ts";
import { ownAddress } from "./display/logo.ts";
import { forgetAll } from "./resource.ts";
import { here, scrollOf, to } from "./router.ts";
import { close as endSession, closed, portal } from "./session.ts";
import { chooseLanguage, chooseTheme, theme } from "./theme.ts";
import type { Portal } from "./types.ts";
import type { View } from "./view.ts";
import { type Match, matchView, tabsNow } from "./views.ts";
import { ClosedPage } from "./views/closed.tsx";

/** null: the page still shows what it came with (page.html). */
export function App(): JSX.Element | null {
  if (closed.value !== null) return <ClosedPage why={closed.value} />;
  return portal.value && <Frame who={portal.value} />;
}

function Frame({ who }: { who: Portal }): JSX.Element {
  const match = matchView(here.value.path);
  const { name } = who.branding;
  useEffect(() => {
    document.title = t("page.title", { name });
  }, [name, language.value]);
  return (
    <>
      <a class="skip" href="#main" onClick={skipToMain}>
        {t("skip")}
      </a>
      <Header who={who} match={match} />
      {isOffline.value && (
        <p class="offline" role="status">
          <Icon name="alert" />
          {t("offline")}
        </p>
      )}
      <main class="page" id="main" tabIndex={-1}>
        {match === null ? <NoView /> : <ViewOf key={String(match.row.path)} match={match} />}
      </main>
      <Footer who={who} />
      <Toasts />
      <Questions />
      {isHelpOpen.value && <KeyHelp />}
    </>
  );
}

/** The fragment is the address of the view: so the link moves the focus, and not the address. */
function skipToMain(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Header({ who, match }: { who: Portal; match: Match | null }): JSX.Element {
  const logo = ownAddress(who.branding.logo_url);
  const items = tabsNow().map(({ tab, path, title }) => ({
    title: t(title),
    href: to(path),
    isOpen: match?.row.tab === tab,
  }));
  return (
    <header class="top">
      <div class="top-line">
        <span class="customer">
          {logo && <img src={logo} alt="" height="28" />}
          <span>{who.branding.name}</span>
        </span>
        <span class="top-facts">
          {who.mode === "test" && <span class="badge warn">{t("mode.test")}</span>}
          {!who.manage && !who.create && <span class="badge idle">{t("mode.read")}</span>}
        </span>
      </div>
      <Tabs items={items} label={t("tabs")} />
    </header>
  );
}

/** A view, loaded when it is first opened; where one comes back to it, it stands where it was left. */
function ViewOf({ match }: { match: Match }): JSX.Element {
  const { row, params } = match;
  const [loaded, setLoaded] = useState<{ view: View } | null>(row.isLazy ? null : { view: row.view as View });
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    if (!row.isLazy) return;
    const load = row.view as () => Promise<View>;
    load().then(
      (view) => setLoaded({ view }),
      (reason: unknown) => setError(reason as Error),
    );
  }, [row]);
  const { path, query } = here.value;
  useLayoutEffect(() => {
    window.scrollTo(0, scrollOf({ path, query }));
    // What had the focus may be gone with the view before: the keyboard goes on here.
    if (document.activeElement === document.body)
      document.getElementById("main")?.focus({ preventScroll: true });
  }, [path, loaded]);
  if (error) return <Failure error={error} />;
  if (loaded === null) return <Skeleton rows={5} />;
  return <loaded.view params={params} query={query} />;
}

function NoView(): JSX.Element {
  return (
    <>
      <Head title={t("noview.title")} />
      <p>
        <a href={to("/")}>{t("noview.back")}</a>
      </p>
    </>
  );
}

/** Forgets the key, and with it all that was shown by it. */
function forgetKey(): void {
  forgetAll();
  endSession("left");
}

const THEMES = ["auto", "light", "dark"] as const;

function Footer({ who }: { who: Portal }): JSX.Element {
  return (
    <footer class="bottom">
      <label>
        {t("language")}{" "}
        <select value={language.value} onChange={(event) => chooseLanguage(event.currentTarget.value)}>
          {[...LANGUAGES].map(([key, { name }]) => (
            <option key={key} value={key} lang={key}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        {t("theme")}{" "}
        <select value={theme.value} onChange={(event) => chooseTheme(event.currentTarget.value)}>
          {THEMES.map((one) => (
            <option key={one} value={one}>
              {t(`theme.${one}`)}
            </option>
          ))}
        </select>
      </label>
      <button type="button" class="button quiet" onClick={() => (isHelpOpen.value = true)}>
        {t("keys.title")}
      </button>
      {who.kind === "api_key" && (
        <button type="button" class="button quiet" onClick={forgetKey}>
          {t("key.forget")}
        </button>
      )}
      {who.expires_at && (
        <span class="muted">
          {t("link.expires")} <Time at={who.expires_at} />
        </span>
      )}
    </footer>
  );
}

const KEYS = ["/", "j", "k", "Enter", "Esc", "?"] as const;

function KeyHelp(): JSX.Element {
  const close = () => (isHelpOpen.value = false);
  return (
    <Dialog title={t("keys.title")} onClose={close}>
      <dl class="keys">
        {KEYS.map((key) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{t(`keys.${key}`)}</dd>
          </div>
        ))}
      </dl>
      <div class="actions">
        <Button kind="primary" onClick={close}>
          {t("close")}
        </Button>
      </div>
    </Dialog>
  );
}
