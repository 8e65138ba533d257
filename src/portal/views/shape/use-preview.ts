import { useEffect, useState } from "preact/hooks";
import { ApiError, type Fault, send } from "../../api.ts";
import { messageOf } from "../../components/states.tsx";

/** What POST /v1/endpoints/preview answers over stored events. */
export interface Preview {
  tried: number;
  matched: number;
  failed: number;
  samples: Sample[];
  /** What is hardly meant in the filter; left out where there is nothing. */
  warnings?: Fault[];
}

export interface Sample {
  event_id: string;
  matched: boolean;
  explanation?: string;
  before: Record<string, unknown>;
  after: Record<string, unknown> | null;
}

export interface Shape {
  filter: unknown;
  transformations: unknown;
}

interface Tried {
  preview: Preview | null;
  faults: readonly Fault[];
  /** What else went wrong. */
  message: string | null;
}

const LAST = 100;
/** Tried a moment after the last key. */
const WAIT_MS = 300;

/**
 * Tries the shape on the newest events that the reader sees; null: it cannot be tried as it stands. What was
 * found last stays.
 */
export function usePreview(endpointId: string, shape: Shape | null): Tried {
  const [tried, setTried] = useState<Tried>({ preview: null, faults: [], message: null });
  const asked = shape === null ? null : JSON.stringify({ endpoint_id: endpointId, last: LAST, ...shape });
  useEffect(() => {
    if (asked === null) return undefined;
    let isOver = false;
    const timer = setTimeout(() => {
      send<Preview>("POST", "/v1/endpoints/preview", JSON.parse(asked)).then(
        (preview) => !isOver && setTried({ preview, faults: [], message: null }),
        (error: unknown) => !isOver && setTried((before) => ({ ...before, ...wordsOf(error) })),
      );
    }, WAIT_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [asked]);
  return tried;
}

function wordsOf(error: unknown): Pick<Tried, "faults" | "message"> {
  if (error instanceof ApiError && error.faults.length > 0) return { faults: error.faults, message: null };
  return { faults: [], message: messageOf(error) };
}

/** The faults of one part, their pointers from its root on. */
export function faultsIn(faults: readonly Fault[], part: "filter" | "transformations"): Fault[] {
  return faults
    .filter(({ pointer }) => pointer === `/${part}` || pointer.startsWith(`/${part}/`))
    .map(({ pointer, detail }) => ({ pointer: pointer.slice(part.length + 1), detail }));
}
