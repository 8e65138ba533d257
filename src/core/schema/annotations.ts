import { isObject, type Json } from "../json/value.ts";
import type { SchemaPart } from "./part.ts";

/**
 * The keywords that judge nothing: each only has to be well written, so that a schema is wrong or right as
 * a whole.
 */

const isText = (operand: Json) => typeof operand === "string";
const isFlag = (operand: Json) => typeof operand === "boolean";

const ANNOTATIONS: readonly {
  keywords: readonly string[];
  operand: string;
  accepts: (operand: Json) => boolean;
}[] = [
  {
    keywords: ["$comment", "title", "description", "format", "contentMediaType", "contentEncoding"],
    operand: "a string",
    accepts: isText,
  },
  { keywords: ["deprecated", "readOnly", "writeOnly"], operand: "true or false", accepts: isFlag },
  { keywords: ["examples"], operand: "a list", accepts: Array.isArray },
  { keywords: ["$vocabulary"], operand: "an object", accepts: isObject },
];

/** Refuses annotations with a wrong operand. `format` is one of them: it is not asserted. */
export function compileAnnotations(part: SchemaPart): null {
  for (const { keywords, operand, accepts } of ANNOTATIONS) {
    for (const keyword of keywords) {
      const value = part.get(keyword);
      if (value !== undefined && !accepts(value)) part.refuse([keyword], `"${keyword}" takes ${operand}.`);
    }
  }
  return null;
}

/**
 * The places that only keep schemas for references, in both drafts; a wrong one among them is refused like
 * any other.
 */
export function compileDefinitions(part: SchemaPart): null {
  part.schemaMap("definitions");
  if (part.host.dialect === "draft-07") return null;
  part.schemaMap("$defs");
  part.schema("contentSchema");
  return null;
}
