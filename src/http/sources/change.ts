import type { Caller } from "../../core/caller.ts";
import { notFound } from "../../core/errors.ts";
import type { Source } from "../../core/model.ts";
import type { Provider } from "../../inbound/provider.ts";
import { findProvider } from "../../inbound/providers.ts";
import { type NewSource, sourceWeight } from "../../store/resources/sources.ts";
import { requireRoomFor, requireWeight } from "../shared/room.ts";
import { commitChange } from "../framework/commit.ts";
import type { Answer, RequestContext } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import type { SourceMonitor } from "./monitor.ts";
import { sourceOf } from "./shape.ts";

/** Throws 404 for an id that is malformed, unknown or foreign, or whose source is deleted. */
export function findSource({ ids, sources }: Needs<"ids" | "sources">, caller: Caller, id: string): Source {
  const key = ids.decode("src", id);
  const source = key === null ? undefined : sources.get(key);
  if (source?.projectId !== caller.projectId) throw notFound("source");
  return source;
}

/** The row of a source's provider; sources are made for rows that exist, and rows are never taken out. */
export function providerOf({ provider: key }: Pick<Source, "provider">): Provider {
  const provider = findProvider(key);
  if (provider === undefined) throw new Error(`a source has the provider ${key}, which is none`);
  return provider;
}

/** Inside a write: throws 422 where the project has no room for this source beside those that it has. */
export function requireRoom(services: Needs<"sources">, made: NewSource): void {
  const held = services.sources.ofProject(made.projectId);
  requireRoomFor("sourcesPerProjectMax", held);
  requireWeight("sourcesOfProjectBytesMax", held, sourceWeight(made));
}

/**
 * Changes a source as it stands at the moment of the write, in one durable transaction with its answer.
 * `change` may throw a Problem: nothing is written then.
 */
export function changeSource(
  services: Needs<"ids" | "sources" | "baseUrl" | "wallNow">,
  monitor: SourceMonitor,
  context: Pick<RequestContext, "commit">,
  id: number,
  change: (current: Source) => Partial<Source>,
  answer: (made: Source) => Answer,
): Promise<Answer> {
  const { sources } = services;
  return commitChange(context, {
    write() {
      let before: unknown;
      const made = sources.update(id, (current) => {
        before = sourceOf(services, monitor, current);
        const changes = change(current);
        const added = sourceWeight({ ...current, ...changes }) - sourceWeight(current);
        requireWeight("sourcesOfProjectBytesMax", sources.ofProject(current.projectId), added);
        return changes;
      });
      if (made === null) throw notFound("source");
      return { made, before };
    },
    answer({ made, before }) {
      const after = made.status === "deleted" ? null : sourceOf(services, monitor, made);
      return { ...answer(made), audited: { before, after } };
    },
    remember: ({ made }) => sources.remember(made),
  });
}
