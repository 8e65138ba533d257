/**
 * Search over all pages, in the reader's browser: the index is one file of this server, fetched when the
 * reader comes to the search. `/` leads there, the arrows through what was found, Escape back to the page.
 */
const MOST = 20;
const AROUND = 70;

const box = document.querySelector("search input");
const found = document.querySelector("#found");
const status = found.querySelector("p");
const list = found.querySelector("ol");

let loading;

/** A failed fetch is tried again with the next letter. */
function load() {
  loading ??= fetch("/docs/assets/search.json")
    .then(async (reply) => {
      if (!reply.ok) throw new Error(`the index answered ${reply.status}`);
      return (await reply.json()).flatMap(([path, title, sections]) =>
        sections.map(([id, heading, text]) => ({ path, title, id, heading, text })),
      );
    })
    .catch((error) => {
      loading = undefined;
      throw error;
    });
  return loading;
}

/** Rotation, rotating and rotate are one word; of four letters at least. */
function stem(word) {
  return word.replace(/(?<=.{4})(?:ions?|ing|ies|ed|es|e|s|y)$/, "");
}

function wordsOf(heading) {
  return heading.toLowerCase().split(/[^\p{L}\p{N}_]+/u);
}

/** 0 where the word is missing. A heading that has it says most. */
function weigh({ title, heading, text }, word) {
  let weight = 0;
  if (wordsOf(heading).some((part) => part.startsWith(word))) weight += 8;
  if (title.toLowerCase().includes(word)) weight += 4;
  const times = text.toLowerCase().split(word).length - 1;
  return weight + Math.min(times, 3);
}

function find(sections, words) {
  const weighed = sections.map((section) => {
    const weights = words.map((word) => weigh(section, word));
    if (weights.includes(0)) return { section, weight: 0 };
    // A heading that is just what is looked for comes before one that holds it.
    const isNamed = wordsOf(section.heading).map(stem).join(" ") === words.join(" ");
    return { section, weight: weights.reduce((sum, one) => sum + one, isNamed ? 16 : 0) };
  });
  return weighed
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ section }) => section);
}

/** The text around the first word, with that word marked. */
function excerpt(text, words) {
  const small = text.toLowerCase();
  const places = words.map((word) => ({ word, at: small.indexOf(word) })).filter(({ at }) => at >= 0);
  const { word = "", at = 0 } = places[0] ?? {};
  const line = document.createElement("span");
  const mark = document.createElement("mark");
  mark.append(text.slice(at, at + word.length));
  const before = text.slice(Math.max(0, at - AROUND), at);
  const isCut = at > AROUND;
  line.append(isCut ? `… ${before.slice(before.indexOf(" ") + 1)}` : before, ...(word === "" ? [] : [mark]));
  line.append(`${text.slice(at + word.length, at + word.length + 2 * AROUND)}…`);
  return line;
}

function itemOf({ path, title, id, heading, text }, words) {
  const link = document.createElement("a");
  link.href = `/docs/${path}${id === "" ? "" : `#${id}`}`;
  const name = document.createElement("strong");
  name.append(heading === title ? title : `${title} › ${heading}`);
  link.append(name, excerpt(text, words));
  const item = document.createElement("li");
  item.append(link);
  return item;
}

async function show() {
  const asked = box.value;
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean).map(stem);
  found.hidden = words.length === 0;
  if (found.hidden) return;
  try {
    const sections = find(await load(), words);
    // An answer for letters that have changed since is nobody's.
    if (asked !== box.value) return;
    const told = sections.length > MOST ? `the first ${MOST} of ${sections.length}` : sections.length;
    status.textContent = sections.length === 0 ? "Nothing found. Try fewer words." : `Found: ${told}`;
    list.replaceChildren(...sections.slice(0, MOST).map((section) => itemOf(section, words)));
  } catch (error) {
    status.textContent = `Search does not work: ${error.message}`;
    list.replaceChildren();
  }
}

/** The search, and each of its results: one above the other. */
function move(step) {
  const stops = [box, ...list.querySelectorAll("a")];
  stops[stops.indexOf(document.activeElement) + step]?.focus();
}

function close() {
  found.hidden = true;
  box.focus();
}

const KEYS = {
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  Escape: close,
};

box.addEventListener("focus", () => void load().catch(() => {}));
box.addEventListener("input", () => void show());
box.addEventListener("focus", () => void show());

box.closest("search").addEventListener("keydown", (event) => {
  const isFirst = event.key === "Enter" && event.target === box;
  const act = isFirst ? () => list.querySelector("a")?.click() : KEYS[event.key];
  if (act === undefined || found.hidden) return;
  event.preventDefault();
  act();
});

document.addEventListener("keydown", (event) => {
  const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
  if (event.key !== "/" || !isPlain || event.target === box) return;
  event.preventDefault();
  box.focus();
});

document.addEventListener("click", (event) => {
  const isLink = event.target.closest("#found a") !== null;
  if (isLink || event.target.closest("search") === null) found.hidden = true;
});
