import type { KindCase } from "./case.ts";
import { http } from "./http.ts";

/** One for each row of the table of kinds, in its order. */
export const CASES: readonly KindCase[] = [http];
