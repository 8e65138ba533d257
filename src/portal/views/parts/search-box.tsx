import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { SearchField } from "../../components/search.tsx";
import { setQuery } from "../../router.ts";

const TYPED_MS = 300;
/** As the API takes it. */
const SEARCH_MAX = 256;

/** What a list is searched for by the service, `q` of the address: asked for once typing rests. */
export function SearchBox({ label, q }: { label: string; q: string | null }): JSX.Element {
  const [text, setText] = useState(q ?? "");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const asked = useRef(q);
  useEffect(() => {
    if (asked.current !== q) setText(q ?? "");
    asked.current = q;
  }, [q]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (value: string) => {
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      asked.current = value === "" ? null : value;
      setQuery({ q: asked.current });
    }, TYPED_MS);
  };
  return <SearchField label={label} value={text} onInput={type} maxLength={SEARCH_MAX} />;
}
