/** Markup that needs no more escaping. */
export class Html {
  constructor(readonly text: string) {}
}

type Value = string | number | Html | readonly Value[];

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function render(value: Value): string {
  if (value instanceof Html) return value.text;
  if (typeof value === "object") return value.map(render).join("");
  return String(value).replace(/[&<>"']/g, (character) => ESCAPES[character] ?? "");
}

/** A template of markup: values are escaped, unless they are markup themselves; lists are joined. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(strings.map((text, at) => text + render(values[at] ?? "")).join(""));
}
