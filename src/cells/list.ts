import { readFileSync } from "node:fs";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { CELL_FORM, MACHINE_FORM, MACHINES_MAX } from "../core/ids.ts";
import { messageOf } from "../core/errors.ts";
import { SettingsError } from "../platform/start-error.ts";
import { parseCidr } from "../transport/addresses.ts";

/** The list of cells, a file of JSON: where each cell is, and what the router in front of them does. */

/** As many names as two characters make. */
export const LIST_CELLS_MAX = 1024;

const CLOSED = { additionalProperties: false } as const;
const MACHINE = MACHINE_FORM.source;
const PATH = "^/[A-Za-z0-9._/-]+$";

const cellShape = Type.Object(
  {
    cell: Type.String({ pattern: CELL_FORM.source }),
    machines: Type.Array(Type.String({ pattern: MACHINE }), { minItems: 1, maxItems: MACHINES_MAX }),
  },
  CLOSED,
);

const routerShape = Type.Object(
  {
    listen: Type.Optional(Type.String({ pattern: MACHINE })),
    certificate: Type.Optional(Type.String({ pattern: PATH })),
    trusted_proxies: Type.Optional(Type.Array(Type.String())),
    proxy_protocol: Type.Optional(Type.Boolean()),
    requests_per_address: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
  },
  CLOSED,
);

const listShape = Type.Object(
  {
    cells: Type.Array(cellShape, { minItems: 1, maxItems: LIST_CELLS_MAX }),
    router: Type.Optional(routerShape),
  },
  CLOSED,
);

/** One cell: its two characters, and `host:port` of the machine, or of each machine of its pair. */
export type Cell = Static<typeof cellShape>;

export interface Router {
  /** `host:port`. */
  listen: string;
  /** Path of a file that holds the certificate, what it is signed by, and the key; null: no TLS. */
  certificate: string | null;
  /** CIDR ranges of the proxies whose word about the client's address is taken. */
  trustedProxies: readonly string[];
  /** Whether they tell it by the PROXY protocol, in place of `x-forwarded-for`. */
  proxyProtocol: boolean;
  /** How many requests of one address are answered at a time. */
  requestsPerAddress: number;
}

export interface CellList {
  cells: readonly Cell[];
  router: Router;
}

/** Reads and checks a list; throws SettingsError with all that is wrong in it. */
export function readCellList(path: string): CellList {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new SettingsError([`The list of cells cannot be read: ${messageOf(error)}`]);
  }
  return parseCellList(text, path);
}

/** The same from its text; `name` stands before each problem. */
export function parseCellList(text: string, name: string): CellList {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new SettingsError([`${name} is not JSON: ${messageOf(error)}`]);
  }
  if (!Value.Check(listShape, list)) {
    const faults = [...Value.Errors(listShape, list)];
    throw new SettingsError(faults.map(({ path, message }) => `${name}: ${path || "/"}: ${message}`));
  }
  const problems = [...problemsOf(list)];
  if (problems.length > 0) throw new SettingsError(problems.map((problem) => `${name}: ${problem}`));
  const { listen, certificate, trusted_proxies, proxy_protocol, requests_per_address } = list.router ?? {};
  return {
    cells: list.cells,
    router: {
      listen: listen ?? (certificate === undefined ? "0.0.0.0:80" : "0.0.0.0:443"),
      certificate: certificate ?? null,
      trustedProxies: trusted_proxies ?? [],
      proxyProtocol: proxy_protocol ?? false,
      requestsPerAddress: requests_per_address ?? REQUESTS_PER_ADDRESS,
    },
  };
}

const REQUESTS_PER_ADDRESS = 200;

/** What the shape does not say. */
function* problemsOf({ cells, router }: Static<typeof listShape>): Generator<string> {
  for (const cell of repeated(cells.map((each) => each.cell))) yield `two cells are called ${cell}`;
  const machines = cells.flatMap((each) => each.machines);
  for (const machine of repeated(machines)) yield `two cells or machines are at ${machine}`;
  const places = [...machines, ...(router?.listen === undefined ? [] : [router.listen])];
  for (const place of places) {
    if (!isPort(portOf(place))) yield `${place} must end with a port from 1 to 65535`;
  }
  for (const range of router?.trusted_proxies ?? []) {
    if (parseCidr(range) === null) yield `/router/trusted_proxies: ${range} is no CIDR range`;
  }
  if (router?.proxy_protocol === true && (router.trusted_proxies ?? []).length === 0)
    yield "/router/proxy_protocol needs /router/trusted_proxies, which say whose word is taken";
}

function repeated(names: readonly string[]): Set<string> {
  return new Set(names.filter((name, at) => names.indexOf(name) !== at));
}

export function portOf(place: string): number {
  return Number(place.slice(place.lastIndexOf(":") + 1));
}

export function isPair({ machines }: Cell): boolean {
  return machines.length > 1;
}

/** Without the brackets of IPv6. */
export function hostOf(place: string): string {
  return place.slice(0, place.lastIndexOf(":")).replace(/^\[|\]$/g, "");
}

function isPort(port: number): boolean {
  return port >= 1 && port <= 65_535;
}
