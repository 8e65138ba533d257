import type { Provider, Source, SourceStats } from "../../types.ts";
import type { ViewProps } from "../../view.ts";

/** What each tab of a source is given. */
export interface SourceTabProps {
  source: Source;
  provider: Provider;
  /** Of the window that is chosen. */
  stats: SourceStats;
  query: ViewProps["query"];
}
