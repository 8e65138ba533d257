import { useState } from "preact/hooks";

/** Rows as they were left, and the JSON that they made: what is not complete yet stands in no JSON. */
export interface Left<Draft> {
  of: string;
  drafts: readonly Draft[];
}

export interface Keeper<Draft> {
  current: Left<Draft> | null;
}

/** Rows that are typed. They come back as they were left, unless their JSON was changed meanwhile. */
export function useDrafts<Draft>(
  json: unknown,
  keeper: Keeper<Draft>,
  make: () => readonly Draft[],
  write: (drafts: readonly Draft[]) => unknown,
): [readonly Draft[], (drafts: readonly Draft[]) => void] {
  const [drafts, setDrafts] = useState(() =>
    keeper.current?.of === JSON.stringify(json) ? keeper.current.drafts : make(),
  );
  const change = (next: readonly Draft[]) => {
    setDrafts(next);
    keeper.current = { of: JSON.stringify(write(next)), drafts: next };
  };
  return [drafts, change];
}
