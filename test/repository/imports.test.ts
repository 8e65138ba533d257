/**
 * Guards the shape of `src/`: arrows point one way (`http → pipeline → store → core`, and `delivery` beside
 * `pipeline`), there is no cycle, types included, and the database, the server framework, the clock and
 * randomness stay where they belong. Nothing asks for a bag where it needs a member.
 */
import { describe, expect, test } from "bun:test";
import { dirname, join } from "node:path";
import manifest from "../../package.json";
import sdk from "../../sdk/typescript/package.json";

type SourceFile = { path: string; text: string; imports: string[] };

/**
 * The rooms of `src/` and what each may import besides itself: a folder, or a file at the top. Read from the
 * bottom of the house: what stands further down knows more.
 */
const mayImport: Record<string, string[]> = {
  core: [],
  portal: ["core"],
  platform: ["core", "package.json"],
  inbound: ["core"],
  store: ["core", "drizzle"],
  transport: ["core", "package.json"],
  destinations: ["transport", "core"],
  delivery: ["destinations", "transport", "store", "platform", "core"],
  pipeline: ["destinations", "store", "platform", "core"],
  replica: ["destinations", "transport", "store", "platform", "core"],
  maintenance: [
    ...["pipeline", "delivery", "destinations", "replica", "transport", "store", "platform", "core"],
  ],
  http: [
    ...["docs", "inbound", "maintenance", "pipeline", "delivery", "destinations", "transport", "store"],
    ...["platform", "core"],
  ],
  config: ["transport", "platform", "core"],
  standby: ["config", "replica", "transport", "store", "platform", "core"],
  backup: ["config", "replica", "store", "platform", "core"],
  cells: ["config", "replica", "store", "platform", "transport", "core"],
  client: ["platform", "core", "package.json"],
  cli: ["backup", "cells", "client", "config", "standby", "platform", "transport"],
  app: [
    ...[
      "checkpointer",
      "http",
      "maintenance",
      "pipeline",
      "delivery",
      "destinations",
      "transport",
      "replica",
      "store",
    ],
    ...["config", "platform", "core"],
  ],
  // The thread's own entry: it lies beside main, as the executable looks for it there.
  checkpointer: ["store"],
  main: ["app", "cli", "config", "replica", "transport", "store", "platform", "core"],
};

/** Packages and modules that only one room may import. */
const ownerOf: [module: RegExp, room: string][] = [
  [/^(bun:sqlite|drizzle-orm)(\/|$)/, "store"],
  [/^(elysia|@elysiajs\/.+)(\/|$)/, "http"],
  [/^@opentelemetry\//, "platform"],
];

/** Folders that the rest of their room, and everybody else, enters by these files only. */
const doorsOf: Record<string, string[]> = {
  "store/index": ["store/index/index.ts", "store/index/recovery.ts"],
};

/**
 * What has a member for everything. A parameter, a property or an alias names what it needs of it; whole it
 * stands where it is made, and where the routes of all resources are put together.
 */
const bags: { type: string; file: string; wholeIn: string[] }[] = [
  { type: "Data", file: "src/store/data.ts", wholeIn: ["src/http/framework/services.ts"] },
  { type: "Services", file: "src/http/framework/services.ts", wholeIn: ["src/http/routes.ts"] },
];

const pureRooms = ["core", "inbound"];
const ioModule =
  /^(node:)?(fs|net|tls|http|https|http2|dns|dgram|child_process|worker_threads|cluster)(\/|$)/;
const clockOrChance =
  /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bset(Timeout|Interval|Immediate)\b|\bperformance\.now\b/;

const repository = join(import.meta.dir, "../..");
const sources = await readSources("src/**/*.{ts,tsx}");
const packaged = await readSources("sdk/typescript/src/*.ts");

describe("the reader of imports", () => {
  test("finds every form: values, types, several lines, re-exports, side effects, dynamic ones and workers", () => {
    const text = [
      'import { a } from "./a.ts";',
      'import type { B } from "./b.ts";',
      'import {\n  c,\n  type D,\n} from "./c.ts";',
      'export * from "./e.ts";',
      'import "./f.ts";',
      'import { no } from "./macro.ts" with { type: "macro" };',
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

describe("the rooms of src", () => {
  test("each has its row in the table of this file", () => {
    const rooms = new Set(sources.map(({ path }) => roomOf(path)));
    expect([...rooms].filter((room) => !(room in mayImport))).toEqual([]);
  });

  test("none stands below another that stands below it", () => {
    expect(findCycle(mayImport)).toEqual([]);
  });

  test("each imports only what its row allows", () => {
    expect(findBreaches(isForbidden)).toEqual([]);
  });

  test("a folder with doors is entered by them", () => {
    const breaches = Object.entries(doorsOf).flatMap(([folder, doors]) =>
      sources
        .filter(({ path }) => !path.startsWith(`src/${folder}/`))
        .flatMap(({ path, imports }) =>
          imports
            .filter((to) => to.startsWith(`src/${folder}/`) && !doors.includes(to.replace("src/", "")))
            .map((to) => `${path} → ${to}`),
        ),
    );
    expect(breaches).toEqual([]);
  });

  test("only src/store knows the database, only src/http the server framework", () => {
    const isForeign = (from: string, to: string) =>
      ownerOf.some(([module, owner]) => module.test(to) && from !== owner);
    // It has SQLite hold a lock, and no data: nothing else that Bun has ends with its process.
    expect(findBreaches(isForeign)).toEqual(["src/client/shared-file.ts → bun:sqlite"]);
  });

  test("core and inbound are pure: no file, network or process module", () => {
    expect(findBreaches((from, to) => pureRooms.includes(from) && ioModule.test(to))).toEqual([]);
  });

  test("core reads no clock, no chance and sets no timer", () => {
    const readers = sources.filter(
      ({ path, text }) => roomOf(path) === "core" && clockOrChance.test(withoutComments(text)),
    );
    expect(readers.map(({ path }) => path)).toEqual([]);
  });

  test("every package that src imports is a production dependency, as `start` installs no others", () => {
    const known = Object.keys(manifest.dependencies);
    const isMissing = (_: string, to: string) => isPackage(to) && !known.includes(packageName(to));
    expect(findBreaches(isMissing)).toEqual([]);
  });
});

describe("the packages that others install", () => {
  test("that of TypeScript imports nothing but its own files, and its manifest has no dependency", () => {
    expect(packaged.length).toBeGreaterThan(4);
    const foreign = packaged.flatMap(({ path, imports }) =>
      imports.filter((to) => !to.startsWith("sdk/typescript/src/")).map((to) => `${path} → ${to}`),
    );
    expect(foreign).toEqual([]);
    expect(Object.keys(sdk).filter((member) => /^(peer|optional)?dependencies$/i.test(member))).toEqual([]);
  });

  test("have a verifier that pulls in nothing of the client", async () => {
    const verifier = packaged.find(({ path }) => path.endsWith("/verify.ts"));
    expect(verifier?.imports).toEqual([]);
    const inPython = await Bun.file(join(repository, "sdk/python/src/sealpost/verify.py")).text();
    expect(inPython).not.toMatch(/^\s*(from|import) (\.|sealpost)/m);
  });
});

describe("bags", () => {
  test("the reader finds the type whole, and not where members of it are named", () => {
    const whole = ["f(data: Data)", "f({ store }: Data)", "type A = Data & B", "x: Omit<Data, 'a'>"];
    const narrow = ['x: Pick<Data, "a">', 'x: Pick<\n  Data,\n  "a">', 'x: Data["a"]', '"Data"', "DataKey"];
    const more = ['import type { Data } from "./d.ts";', 'import { type Data, a } from "./d.ts";', "// Data"];
    expect(whole.filter((text) => !takesWhole(text, "Data"))).toEqual([]);
    expect([...narrow, ...more].filter((text) => takesWhole(text, "Data"))).toEqual([]);
  });

  for (const { type, file, wholeIn } of bags)
    test(`nobody takes all of ${type}`, () => {
      const places = sources.filter(
        ({ path, text, imports }) =>
          imports.includes(file) && path !== "src/app.ts" && takesWhole(text, type),
      );
      expect(places.map(({ path }) => path)).toEqual(wholeIn);
    });

  test("no bag lies in another as a member", () => {
    const members = sources.filter(({ text }) => /\b(Needs<|Pick<\s*Services,)[^>]*"data"/.test(text));
    expect(members.map(({ path }) => path)).toEqual([]);
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

async function readSources(pattern: string): Promise<SourceFile[]> {
  const paths = [...new Bun.Glob(pattern).scanSync(repository)].filter((path) => !path.endsWith(".d.ts"));
  return Promise.all(
    paths.toSorted().map(async (path) => {
      const text = await Bun.file(join(repository, path)).text();
      return { path, text, imports: readImports(path, text) };
    }),
  );
}

/**
 * The modules that a file names: paths from the repository's root, or names of packages. A macro runs when
 * its file is bundled, and is no part of it.
 */
function readImports(path: string, text: string): string[] {
  const statements =
    /^(?:import|export)\b[^;"]*?\bfrom "([^"]+)"(?! with \{ type: "macro" \})|^import "([^"]+)"/gm;
  const expressions = /\b(?:import|require)\("([^"]+)"\)|\bnew URL\("(\.[^"]+)", import\.meta\.url\)/g;
  const names = [...text.matchAll(statements), ...text.matchAll(expressions)].map(([, a, b]) => a ?? b ?? "");
  return names.map((name) => (name.startsWith(".") ? join(dirname(path), name) : name));
}

function withoutComments(text: string): string {
  return text.replace(/^\s*(\/\/|\/?\*).*$/gm, "");
}

/** True where `type` stands in the text other than in an import, in `Pick<…>` or with a member's name. */
function takesWhole(text: string, type: string): boolean {
  const bare = withoutComments(text)
    .replace(/^import\b[^;]*;/gm, "")
    .replace(/"[^"\n]*"/g, '""');
  return new RegExp(`(?<!Pick<\\s*)\\b${type}\\b(?!\\[)`).test(bare);
}

/**
 * The room of a path: `src/delivery/actors.ts` → `delivery`, `src/app.ts` → `app`; `package.json` as it is.
 */
function roomOf(path: string): string {
  const [first = path] = path.replace(/^src\//, "").split("/");
  return first.replace(/\.tsx?$/, "");
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
  return roomOf(to) !== from && mayImport[from]?.includes(roomOf(to)) !== true;
}

/** Every import of the sources that breaks a rule over (room, module), as `file → module`. */
function findBreaches(isBreach: (room: string, module: string) => boolean): string[] {
  return sources.flatMap(({ path, imports }) =>
    imports.filter((module) => isBreach(roomOf(path), module)).map((module) => `${path} → ${module}`),
  );
}

/**
 * The first cycle of a graph as the way through it, its first node named again at the end; empty where there
 * is none.
 */
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
