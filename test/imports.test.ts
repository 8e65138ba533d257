/**
 * Guards the shape of `src/`: arrows point one way (`http → pipeline → store → core`), there is no cycle, types included,
 * and the database, the server framework, the clock and randomness stay where they belong.
 */
import { describe, expect, test } from "bun:test";
import { dirname, join } from "node:path";
import manifest from "../package.json";

type SourceFile = { path: string; text: string; imports: string[] };

const settings = ["clock", "config", "log", "metrics", "secret-key", "start-error"];
const services = [
  "admission",
  "authenticate",
  "releaser",
  "replayer",
  "poller",
  "eraser",
  "pipeline",
  "audience",
  "store",
  "inbound",
  "outbound",
  "core",
];

/**
 * The parts of `src/` and what each may import besides itself. A part is a folder, or a file at the top; a file in a folder
 * that has a row of its own goes by that one.
 */
const mayImport: Record<string, string[]> = {
  core: [],
  clock: [],
  "secret-key": ["start-error"],
  log: ["core"],
  metrics: ["core"],
  config: ["core", "log"],
  store: ["core", "drizzle"],
  inbound: ["core"],
  outbound: ["outbound/user-agent", "core", "clock"],
  // The actors stand between what is stored and what is sent; the machine, the kinds and the transport know no database.
  "outbound/actors": ["outbound", "store", "core", "clock"],
  "outbound/user-agent": ["package.json"],
  portal: [],
  "portal-build": [],
  authenticate: ["store", "core"],
  "start-error": [],
  turns: ["core"],
  audience: ["store", "core"],
  fanout: ["outbound/actor-parts", "outbound/actors", "outbound/dispatcher", "store", "core"],
  admission: ["store", "core"],
  pipeline: [
    "admission",
    "audience",
    "fanout",
    "outbound/actor-parts",
    "outbound/actors",
    "outbound/dispatcher",
    "store",
    "core",
  ],
  releaser: ["outbound/actors", "outbound/dispatcher", "store", "core", "clock"],
  replayer: ["fanout", "pipeline", "outbound/actors", "store", "core", "clock", "log", "metrics"],
  poller: ["outbound", "outbound/actors", "store", "core", "clock"],
  http: ["docs", "portal-build", ...services, ...settings],
  replica: ["start-error"],
  replication: ["replica", "store", "log", "clock"],
  jobs: ["pace"],
  pace: ["core"],
  tell: [
    "audience",
    "http",
    "jobs",
    "log",
    "metrics",
    "outbound",
    "outbound/actors",
    "pipeline",
    "replication",
    "store",
    "core",
  ],
  retention: ["pace", "outbound/actors", "store", "core"],
  eraser: ["pace", "retention", "outbound/actors", "store", "core"],
  upkeep: ["outbound/actors", "store", "core"],
  steady: ["clock", "store", "core"],
  "take-up": ["pipeline", "releaser", "replayer", "outbound/actors", "store"],
  schedule: ["eraser", "jobs", "retention", "upkeep", "outbound/actors", "store", "core"],
  app: [
    "http",
    "checkpoint-thread",
    "checkpointer",
    "jobs",
    "replica",
    "replication",
    "retention",
    "schedule",
    "steady",
    "take-up",
    "tell",
    "turns",
    ...services,
    ...settings,
  ],
  command: ["config", "outbound/user-agent"],
  main: ["app", "command", "replica", "outbound/user-agent", "store", "core", ...settings],
  checkpointer: ["store"],
  "checkpoint-thread": ["store"],
  build: ["portal-build"],
};

/** Packages and modules that only one part may import. */
const ownerOf: [module: RegExp, part: string][] = [
  [/^(bun:sqlite|drizzle-orm)(\/|$)/, "store"],
  [/^(elysia|@elysiajs\/.+)(\/|$)/, "http"],
];

const pureParts = ["core", "inbound"];
const ioModule =
  /^(node:)?(fs|net|tls|http|https|http2|dns|dgram|child_process|worker_threads|cluster)(\/|$)/;
const clockOrChance =
  /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bset(Timeout|Interval|Immediate)\b|\bperformance\.now\b/;

const repository = join(import.meta.dir, "..");
const sources = await readSources();

describe("the reader of imports", () => {
  test("finds every form: values, types, several lines, re-exports, side effects, dynamic ones and workers", () => {
    const text = [
      'import { a } from "./a.ts";',
      'import type { B } from "./b.ts";',
      'import {\n  c,\n  type D,\n} from "./c.ts";',
      'export * from "./e.ts";',
      'import "./f.ts";',
      'const g = await import("./g.ts");',
      'let h: import("./h.ts").H;',
      'new Worker(new URL("./i.ts", import.meta.url));',
      ' * import { no } from "./documentation.ts";',
    ].join("\n");
    const found = ["a", "b", "c", "e", "f", "g", "h", "i"].map((name) => `src/core/${name}.ts`);
    expect(readImports("src/core/x.ts", text).toSorted()).toEqual(found);
  });

  test("sees the sources", () => {
    expect(sources.filter(({ path }) => path.startsWith("src/core/")).length).toBeGreaterThan(5);
    expect(sources.flatMap(({ imports }) => imports)).toContain("bun:sqlite");
  });
});

describe("the parts of src", () => {
  test("each has its row in the table of this file", () => {
    const parts = new Set(sources.map(({ path }) => partOf(path)));
    expect([...parts].filter((part) => !(part in mayImport))).toEqual([]);
  });

  test("each imports only what its row allows", () => {
    expect(findBreaches(isForbidden)).toEqual([]);
  });

  test("only src/store knows the database, only src/http the server framework", () => {
    const isForeign = (from: string, to: string) =>
      ownerOf.some(([module, owner]) => module.test(to) && from !== owner);
    expect(findBreaches(isForeign)).toEqual([]);
  });

  test("core and inbound are pure: no file, network or process module", () => {
    expect(findBreaches((from, to) => pureParts.includes(from) && ioModule.test(to))).toEqual([]);
  });

  test("core reads no clock, no chance and sets no timer", () => {
    const readers = sources.filter(
      ({ path, text }) => partOf(path) === "core" && clockOrChance.test(withoutComments(text)),
    );
    expect(readers.map(({ path }) => path)).toEqual([]);
  });

  test("every package that src imports is a production dependency, as `start` installs no others", () => {
    const known = Object.keys(manifest.dependencies);
    const isMissing = (_: string, to: string) => isPackage(to) && !known.includes(packageName(to));
    expect(findBreaches(isMissing)).toEqual([]);
  });
});

describe("cycles", () => {
  test("the search finds a cycle, and none where there is none", () => {
    expect(findCycle({ a: ["b"], b: ["c", "d"], c: [], d: ["a"] })).toEqual(["a", "b", "d", "a"]);
    expect(findCycle({ a: ["b", "c"], b: ["c"], c: [] })).toEqual([]);
  });

  test("no file of src imports itself by any way, types included", () => {
    expect(findCycle(Object.fromEntries(sources.map(({ path, imports }) => [path, imports])))).toEqual([]);
  });
});

async function readSources(): Promise<SourceFile[]> {
  const paths = [...new Bun.Glob("src/**/*.{ts,tsx}").scanSync(repository)].filter(
    (path) => !path.endsWith(".d.ts"),
  );
  return Promise.all(
    paths.toSorted().map(async (path) => {
      const text = await Bun.file(join(repository, path)).text();
      return { path, text, imports: readImports(path, text) };
    }),
  );
}

/** The modules that a file names: paths from the repository's root, or names of packages. */
function readImports(path: string, text: string): string[] {
  const statements = /^(?:import|export)\b[^;"]*?\bfrom "([^"]+)"|^import "([^"]+)"/gm;
  const expressions = /\b(?:import|require)\("([^"]+)"\)|\bnew URL\("(\.[^"]+)", import\.meta\.url\)/g;
  const names = [...text.matchAll(statements), ...text.matchAll(expressions)].map(([, a, b]) => a ?? b ?? "");
  return names.map((name) => (name.startsWith(".") ? join(dirname(path), name) : name));
}

function withoutComments(text: string): string {
  return text.replace(/^\s*(\/\/|\/?\*).*$/gm, "");
}

/** What a table may call a path: `src/outbound/actors.ts` → `outbound/actors`, `outbound`; `package.json` as it is. */
function namesOf(path: string): string[] {
  const name = path.replace(/^src\//, "").replace(/\.tsx?$/, "");
  return [name, name.split("/")[0] ?? name];
}

/** The row that a file goes by. */
function partOf(path: string): string {
  const [own = path, folder = path] = namesOf(path);
  return own in mayImport ? own : folder;
}

function isLocal(module: string): boolean {
  return module.startsWith("src/") || module.startsWith("drizzle/") || module === "package.json";
}

function isPackage(module: string): boolean {
  return !isLocal(module) && !/^(node|bun):/.test(module) && module !== "bun";
}

/** `drizzle-orm/bun-sqlite` → `drizzle-orm`, `@scope/name/file` → `@scope/name`. */
function packageName(module: string): string {
  return module.split("/", module.startsWith("@") ? 2 : 1).join("/");
}

function isForbidden(from: string, to: string): boolean {
  if (!isLocal(to)) return to.startsWith("..") || to.startsWith("test/");
  return partOf(to) !== from && !namesOf(to).some((name) => mayImport[from]?.includes(name));
}

/** Every import of the sources that breaks a rule over (part, module), as `file → module`. */
function findBreaches(isBreach: (part: string, module: string) => boolean): string[] {
  return sources.flatMap(({ path, imports }) =>
    imports.filter((module) => isBreach(partOf(path), module)).map((module) => `${path} → ${module}`),
  );
}

/** The first cycle of a graph as the way through it, its first node named again at the end; empty where there is none. */
function findCycle(graph: Record<string, string[]>): string[] {
  const finished = new Set<string>();
  const visit = (node: string, way: string[]): string[] => {
    if (way.includes(node)) return [...way.slice(way.indexOf(node)), node];
    if (finished.has(node)) return [];
    for (const next of graph[node] ?? []) {
      const cycle = visit(next, [...way, node]);
      if (cycle.length > 0) return cycle;
    }
    finished.add(node);
    return [];
  };
  for (const node of Object.keys(graph)) {
    const cycle = visit(node, []);
    if (cycle.length > 0) return cycle;
  }
  return [];
}
