/**
 * Where in a JSON text each value stands, so that an error that names a JSON Pointer can be shown at its
 * line; and where a text stops being JSON.
 */
export interface Places {
  /** Line, from 1, of the value at this pointer, or of the nearest that holds it. */
  lineOf: (pointer: string) => number;
  /** Line on which it is no JSON any more; null: it is JSON. */
  brokenAt: number | null;
}

const TOKEN =
  /[ \t\n\r]+|"(?:\\.|[^"\\\n])*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:]/y;

interface Token {
  text: string;
  at: number;
}

export function findPlaces(text: string): Places {
  const found = new Map<string, number>([["", 0]]);
  const broken = new Reader(text, found).read();
  const lineAt = (offset: number) => text.slice(0, offset).split("\n").length;
  return {
    lineOf(pointer) {
      let place = pointer;
      while (!found.has(place)) place = place.slice(0, Math.max(0, place.lastIndexOf("/")));
      return lineAt(found.get(place) ?? 0);
    },
    brokenAt: broken === null ? null : lineAt(broken),
  };
}

class Broken extends Error {
  constructor(readonly at: number) {
    super("no JSON");
  }
}

/** Reads the text once, as the grammar of JSON has it. */
class Reader {
  #at = 0;

  constructor(
    private readonly text: string,
    private readonly found: Map<string, number>,
  ) {}

  /** Answers where the text is broken, or null. */
  read(): number | null {
    try {
      this.#value("");
      if (this.#peek() !== null) throw new Broken(this.#at);
      return null;
    } catch (error) {
      if (error instanceof Broken) return error.at;
      throw error;
    }
  }

  #value(pointer: string): void {
    const { text, at } = this.#next();
    // A name in an object was noted at the name already.
    if (!this.found.has(pointer) || pointer === "") this.found.set(pointer, at);
    if (text.startsWith('"')) requireString(text, at);
    if (text === "{") this.#object(pointer);
    else if (text === "[") this.#list(pointer);
    else if (/^[}\],:]$/.test(text)) throw new Broken(at);
  }

  #object(pointer: string): void {
    if (this.#skip("}")) return;
    do {
      const { text, at } = this.#next();
      if (!text.startsWith('"')) throw new Broken(at);
      const below = `${pointer}/${requireString(text, at).replaceAll("~", "~0").replaceAll("/", "~1")}`;
      this.found.set(below, at);
      this.#expect(":");
      this.#value(below);
    } while (this.#skip(","));
    this.#expect("}");
  }

  #list(pointer: string): void {
    if (this.#skip("]")) return;
    let index = 0;
    do this.#value(`${pointer}/${index++}`);
    while (this.#skip(","));
    this.#expect("]");
  }

  #peek(): Token | null {
    for (;;) {
      if (this.#at === this.text.length) return null;
      TOKEN.lastIndex = this.#at;
      const [text] = TOKEN.exec(this.text) ?? [];
      if (text === undefined) throw new Broken(this.#at);
      if (text.trim() !== "") return { text, at: this.#at };
      this.#at += text.length;
    }
  }

  #next(): Token {
    const token = this.#peek();
    if (token === null) throw new Broken(this.#at);
    this.#at = token.at + token.text.length;
    return token;
  }

  #skip(text: string): boolean {
    if (this.#peek()?.text !== text) return false;
    this.#next();
    return true;
  }

  #expect(text: string): void {
    const token = this.#next();
    if (token.text !== text) throw new Broken(token.at);
  }
}

/** What the string says; broken where an escape in it is none. */
function requireString(text: string, at: number): string {
  try {
    return JSON.parse(text) as string;
  } catch {
    throw new Broken(at);
  }
}
