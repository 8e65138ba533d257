import type { AttemptError } from "../core/attempt-error.ts";
import type { Json } from "../core/json/value.ts";
import { limit } from "../core/limits.ts";
import type { Endpoint } from "../core/model.ts";
import { RecentByObject } from "../core/structures/recent-by-object.ts";
import { atOnce, type Pieces, type Turns } from "../core/structures/turn-queue.ts";
import {
  compileInPieces,
  type Transformation,
  type Transformed,
  writeTransformed,
} from "../core/transform/transform.ts";
import type { Load } from "../core/waiting.ts";
import { errorNamed } from "../destinations/answers.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Of the endpoints that used theirs last, over all projects. */
export const compiledTransformations = new RecentByObject<Endpoint, Transformation>(
  limit("compiledTransformationsBytesMax"),
  ({ weight }) => weight,
);

/** The endpoint's transformations, compiled; null where it has none. Throws where they are refused. */
export function transformationOf(endpoint: Endpoint): Transformation | null {
  const { transformations } = endpoint;
  if (transformations === null) return null;
  return atOnce(compiledFor(endpoint, transformations));
}

/** The heaviest take some 10 ms to compile, and those of very many endpoints are not kept. */
function* compiledFor(endpoint: Endpoint, transformations: unknown): Pieces<Transformation> {
  const kept = compiledTransformations.get(endpoint);
  const transformation = kept ?? (yield* compile(transformations));
  // The newest from now on.
  compiledTransformations.set(endpoint, transformation);
  if (kept === undefined) yield 0;
  return transformation;
}

function* compile(list: unknown): Pieces<Transformation> {
  const result = yield* compileInPieces(list, limit("transformedBytesMax"));
  if (!result.ok) throw new Error("an endpoint has transformations that were refused");
  return result.transformation;
}

/** The body, or why there is none. */
export type Shaped = { ok: true; body: Uint8Array } | { ok: false; error: AttemptError };

/** The body after the endpoint's transformations; the plain envelope's own bytes where there are none. */
export function reshape(
  parts: { turnsOf(projectId: number): Turns },
  endpoint: Endpoint,
  { body }: Load,
): Shaped | Promise<Shaped> {
  const { transformations } = endpoint;
  if (transformations === null) return { ok: true, body };
  // A small body does not tell what its operations make of it: they may not end within this turn.
  return parts
    .turnsOf(endpoint.projectId)
    .inPieces(body.length, () => shape(endpoint, transformations, body));
}

function* shape(endpoint: Endpoint, transformations: unknown, body: Uint8Array): Pieces<Shaped> {
  const transformation = yield* compiledFor(endpoint, transformations);
  const text = decoder.decode(body);
  const envelope = JSON.parse(text) as Json;
  yield;
  const result = yield* transformation.parts(envelope);
  yield;
  return shapedOf(text, result);
}

function shapedOf(source: string, result: Transformed): Shaped {
  const written = writeTransformed(source, result);
  if (written.ok) return { ok: true, body: encoder.encode(written.text) };
  // The reason names the place, which may be a field with a very long name.
  return { ok: false, error: errorNamed("transformation_failed", written.reason) };
}
