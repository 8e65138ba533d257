import { Type } from "@sinclair/typebox";
import type { Fault } from "../../core/errors.ts";
import { filterWarnings } from "../../core/filter/warnings.ts";
import type { JsonObject } from "../../core/json/value.ts";

/** Beside the answer to whatever carries a filter: what is hardly meant in it. */
export const warningFields = {
  warnings: Type.Optional(
    Type.Array(Type.Object({ pointer: Type.String(), detail: Type.String() }, { $id: "FilterWarning" }), {
      description:
        "Keys of the filter that no event has, so that it hardly does what was meant; left out where there are none.",
    }),
  ),
};

/** Of a filter that compiles, or none: `{warnings}` where there are some. */
export function warningsPart(filter: object | null | undefined): { warnings?: Fault[] } {
  const warnings = filter ? filterWarnings(filter as JsonObject, "/filter") : [];
  return warnings.length === 0 ? {} : { warnings };
}
