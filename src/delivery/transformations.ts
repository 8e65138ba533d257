import { limit } from "../core/limits.ts";
import type { Endpoint } from "../core/model.ts";
import { RecentMap } from "../core/structures/recent-map.ts";
import { compileTransformations, type Transformation } from "../core/transform/transform.ts";

/** Of the endpoints that used theirs last, over all projects. */
export const compiledTransformations = new RecentMap<Endpoint, Transformation>(
  limit("compiledTransformationsBytesMax"),
  ({ weight }) => weight,
);

/** The endpoint's transformations, compiled; null where it has none. Throws where they are refused. */
export function transformationOf(endpoint: Endpoint): Transformation | null {
  const { transformations } = endpoint;
  if (transformations === null) return null;
  return compiledTransformations.getOrMake(endpoint, () => compile(transformations));
}

function compile(list: unknown): Transformation {
  const result = compileTransformations(list, limit("transformedBytesMax"));
  if (!result.ok) throw new Error("an endpoint has transformations that were refused");
  return result.transformation;
}
