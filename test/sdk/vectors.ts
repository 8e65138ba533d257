/** The requests that verifiers in any language are held against. */
import file from "../../sdk/vectors.json";

export interface Vector {
  name: string;
  /** What the receiver holds: `whsec_…` and `whpk_…`. */
  secrets: string[];
  headers: Record<string, string>;
  body_base64: string;
  /** The receiver's clock, in seconds since 1970. */
  at: number;
  tolerance_seconds: number;
  /** One of those of `src/client/verdict.ts`. */
  verdict: string;
  why: string;
  /** Verifiers that are in use differ here, and none is unsafe by it where bodies are JSON objects. */
  optional?: true;
}

export const VECTORS = file.vectors as unknown as readonly Vector[];
export const PRIVATE_KEYS: Readonly<Record<string, string>> = file.private_keys;
