import type { ComponentType } from "preact";

/** What a view is given: the parts of its address. */
export interface ViewProps {
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string>>;
}

export type View = ComponentType<ViewProps>;
