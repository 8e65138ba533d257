import type { InboundRequest, KeyReader, Reception, SourceMaterial } from "../../src/inbound/provider.ts";
import { findProvider } from "../../src/inbound/providers.ts";
import { CASES } from "./cases.ts";
import { materialOf, NOW_MS } from "./kit.ts";

/** Single providers under the material and the genuine requests of their cases. */

export function receive(
  key: string,
  request: InboundRequest,
  material: SourceMaterial,
  keys?: KeyReader,
): Promise<Reception> {
  const provider = findProvider(key);
  if (!provider) throw new Error(`There is no provider ${key}.`);
  return keys
    ? provider.receive(request, material, NOW_MS, keys)
    : provider.receive(request, material, NOW_MS);
}

export async function outcome(
  key: string,
  request: InboundRequest,
  material: SourceMaterial,
  keys?: KeyReader,
): Promise<string> {
  const reception = await receive(key, request, material, keys);
  return reception.kind === "refused" ? reception.reason : reception.kind;
}

export async function genuine(key: string): Promise<InboundRequest> {
  const proof = CASES[key];
  if (!proof) throw new Error(`There is no case for ${key}.`);
  return proof.sign(proof.secrets[0] ?? "", NOW_MS);
}

export function materialFor(key: string): SourceMaterial {
  const proof = CASES[key];
  return materialOf(proof?.secrets.slice(0, 1) ?? [], {
    credentials: proof?.credentials ?? {},
    config: proof?.config ?? {},
  });
}
