import type { Project } from "../../core/model.ts";
import type { Needs } from "../framework/services.ts";

/** Where a project's portal stands, as the outside reaches it. */
export function portalAddress({ baseUrl, ids }: Needs<"ids" | "baseUrl">, projectId: number): string {
  return `${baseUrl}/portal/${ids.encode("proj", projectId)}`;
}

/**
 * How a project shows itself to its users; its logo from our own origin, so that no page of ours asks a
 * third party.
 */
export function brandingOf(
  services: Needs<"ids" | "logos" | "baseUrl">,
  { id, name: ownName, branding }: Project,
): { name: string; logo_url: string | null; color: string | null } {
  const version = services.logos.versionOf(id);
  return {
    name: branding.name ?? ownName,
    logo_url: version === null ? null : `${portalAddress(services, id)}/logo?v=${version}`,
    color: branding.color ?? null,
  };
}
