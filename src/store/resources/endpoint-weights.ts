import type { Endpoint } from "../../core/model.ts";
import { weightOf } from "../../core/json/weight.ts";

type Owner = Pick<Endpoint, "projectId" | "consumerId">;
type Settings = Omit<Endpoint, "id" | "updatedAt">;

/** A compiled filter stands beside its source. */
const FILTER_FACTOR = 4;

/** What an endpoint's settings take in memory, about, also at rest. */
export function endpointWeight(endpoint: Settings): number {
  const { config, credentials, headers, description, eventTypes, transformations, metadata } = endpoint;
  const parts = [config, credentials, headers, description, eventTypes, transformations, metadata];
  const filter = endpoint.filter === null ? 0 : FILTER_FACTOR * weightOf(endpoint.filter);
  return parts.reduce<number>((sum, part) => sum + weightOf(part), filter);
}

/** What the endpoints of each project, and of each consumer, weigh together. */
export class EndpointWeights {
  readonly #ofEach = new Map<number, { places: readonly string[]; weight: number }>();
  readonly #sums = new Map<string, number>();

  set(endpoint: Endpoint): void {
    this.delete(endpoint.id);
    const entry = { places: placesOf(endpoint), weight: endpointWeight(endpoint) };
    this.#ofEach.set(endpoint.id, entry);
    for (const place of entry.places) this.#add(place, entry.weight);
  }

  delete(id: number): void {
    const entry = this.#ofEach.get(id);
    if (!entry) return;
    this.#ofEach.delete(id);
    for (const place of entry.places) this.#add(place, -entry.weight);
  }

  ofProject(projectId: number): number {
    return this.#sums.get(projectPlace(projectId)) ?? 0;
  }

  ofConsumer(projectId: number, consumerId: string): number {
    return this.#sums.get(consumerPlace(projectId, consumerId)) ?? 0;
  }

  #add(place: string, weight: number): void {
    const sum = (this.#sums.get(place) ?? 0) + weight;
    if (sum === 0) this.#sums.delete(place);
    else this.#sums.set(place, sum);
  }
}

function placesOf({ projectId, consumerId }: Owner): string[] {
  const project = projectPlace(projectId);
  return consumerId === null ? [project] : [project, consumerPlace(projectId, consumerId)];
}

function projectPlace(projectId: number): string {
  return `${projectId}`;
}

function consumerPlace(projectId: number, consumerId: string): string {
  return `${projectId}=${consumerId}`;
}
