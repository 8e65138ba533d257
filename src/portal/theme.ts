import { signal } from "@preact/signals";
import { brandFor, toHex } from "./display/color.ts";
import { language, preferredLanguage, speak } from "./i18n.ts";

/**
 * How the page looks to this reader: theme, language and direction, from the address
 * (`?theme=dark&lang=de&dir=rtl`, for the page that embeds us), from what was chosen here before, or from
 * the browser.
 */
export type Theme = "auto" | "light" | "dark";

export const theme = signal<Theme>("auto");

/** The storage of a framed page may be closed to us. */
function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`portal.${name}`, value);
  } catch {
    // The choice then holds for this visit only.
  }
}

function remembered(name: string): string | null {
  try {
    return localStorage.getItem(`portal.${name}`);
  } catch {
    return null;
  }
}

async function talk(wanted: string): Promise<void> {
  await speak(wanted, navigator.languages);
  document.documentElement.lang = language.value;
}

export function chooseTheme(value: string): void {
  theme.value = value === "light" || value === "dark" ? value : "auto";
  document.documentElement.dataset["theme"] = theme.value;
  remember("theme", theme.value);
}

export function chooseLanguage(value: string): void {
  remember("lang", value);
  void talk(value);
}

export function startLook(): Promise<void> {
  const asked = new URLSearchParams(location.search);
  const look = asked.get("theme") ?? remembered("theme") ?? "auto";
  theme.value = look === "light" || look === "dark" ? look : "auto";
  document.documentElement.dataset["theme"] = theme.value;
  document.documentElement.dir = asked.get("dir") === "rtl" ? "rtl" : "ltr";
  return talk(asked.get("lang") ?? remembered("lang") ?? preferredLanguage(navigator.languages));
}

/** Gives the page the customer's colour, readable in either theme. */
export function paint(color: string | null): void {
  const { style } = document.documentElement;
  const names = { "--brand": "brand", "--on-brand": "onBrand", "--brand-soft": "soft" } as const;
  for (const [property, role] of Object.entries(names)) {
    if (color === null) {
      style.removeProperty(property);
      continue;
    }
    const [light, dark] = [brandFor(color, "light")[role], brandFor(color, "dark")[role]];
    style.setProperty(property, `light-dark(${toHex(light)}, ${toHex(dark)})`);
  }
}

export function setIcon(address: string | null): void {
  document.querySelector('link[rel="icon"]')?.setAttribute("href", address ?? "data:,");
}
