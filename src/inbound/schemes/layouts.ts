/** The ways in which providers write signatures, and a timestamp beside them, into one header. */

interface SignatureParts {
  readonly signatures: readonly string[];
  /** null where the header holds none. */
  readonly timestamp: string | null;
}

export type Layout = (value: string) => SignatureParts;

/** More than any provider sends in one header, few enough to compare them all. */
const SIGNATURES_MAX = 100;

function split(value: string, separator: string | RegExp): string[] {
  return value
    .split(separator, SIGNATURES_MAX)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function withoutPrefix(parts: readonly string[], prefix: string): string[] {
  return parts.filter((part) => part.startsWith(prefix)).map((part) => part.slice(prefix.length));
}

/** One signature, after a prefix: `sha256=<hex>`. */
export function whole(prefix = ""): Layout {
  return (value) => ({ signatures: withoutPrefix([value], prefix), timestamp: null });
}

/** Several: `v1=<hex>,v1=<hex>`. Entries with another prefix are passed over. */
export function listed(separator: string | RegExp, prefix = ""): Layout {
  return (value) => ({ signatures: withoutPrefix(split(value, separator), prefix), timestamp: null });
}

/** Named parts, any number of signatures: `t=<timestamp>,v1=<hex>,v1=<hex>`. */
export function pairs(separator: string | RegExp, timestampName: string, signatureName: string): Layout {
  return (value) => {
    const parts = split(value, separator);
    const [timestamp] = withoutPrefix(parts, `${timestampName}=`);
    return { signatures: withoutPrefix(parts, `${signatureName}=`), timestamp: timestamp ?? null };
  };
}

/** The timestamp first, then signatures: `<timestamp>,<hex>,<hex>`. */
export function timestampFirst(separator: string): Layout {
  return (value) => {
    const [timestamp, ...signatures] = split(value, separator);
    return { signatures, timestamp: timestamp ?? null };
  };
}
