/** What very many rows say alike stands in memory once, and is not changed by anybody. */

const words = new Map<string, string>();
const lists = new Map<string, readonly string[]>();
const NOTHING = Object.freeze({});
const NONE: readonly never[] = Object.freeze([]);

/** One of a few words, as a state or a kind is. */
export function alikeWord<Word extends string>(word: Word): Word {
  const known = words.get(word);
  if (known === undefined) words.set(word, word);
  return (known ?? word) as Word;
}

/** Some of a few words. */
export function alikeWords<Word extends string>(list: readonly Word[]): readonly Word[] {
  const key = list.join();
  const known = lists.get(key) ?? Object.freeze(list.map(alikeWord));
  lists.set(key, known);
  return known as readonly Word[];
}

/** An object that holds nothing is the same for all. */
export function alikeObject<Value>(object: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  for (const _ in object) return object;
  return NOTHING;
}

/** A list of nothing is the same for all. */
export function alikeList<Value>(list: readonly Value[]): readonly Value[] {
  return list.length === 0 ? NONE : list;
}
