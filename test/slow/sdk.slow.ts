// time budget: 240 s
/**
 * The package of `sdk/typescript`: built, packed, and installed from the packed file by a project that runs
 * it in Node, Bun and Deno against the real service. Its verifier is held to the vectors in these, in
 * Chromium and in workerd. The package of `sdk/python` is tried in the same way, installed from its wheel.
 * The programs of the page about them are run too.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook as Published } from "standardwebhooks";
import manifest from "../../sdk/typescript/package.json";
import { DOC_PAGES } from "../../src/http/docs/pages.ts";
import { hasChromium, startBrowser } from "../kit/browser.ts";
import { installProgram } from "../kit/npm.ts";
import { freePorts } from "../kit/real-server.ts";
import { installPython, PYTHON_HINT, requirePythonOfSdk, STANDARD_WEBHOOKS } from "../kit/python.ts";
import { startReceiver } from "../kit/receiver.ts";
import { startService } from "../kit/service.ts";
import { requireTool } from "../kit/tools.ts";
import { type Block, readBlocks } from "../readme/blocks.ts";
import { forge, type Sample, takeDelivery } from "../readme/delivery.ts";
import { findDifference } from "../readme/expected.ts";
import { FOUND, FOUND_IN_PYTHON, JOURNEY } from "../sdk/journey.ts";
import { Project } from "../sdk/project.ts";
import { PythonProject, wheelsWithoutPython } from "../sdk/python-project.ts";
import { PRIVATE_KEYS, VECTORS } from "../sdk/vectors.ts";
import { startWorker, WORKERD } from "../sdk/workerd.ts";

const DENO = "deno@2.9.6";
/** How each runtime is called with a program. */
const RUNTIMES: [string, () => Promise<string[]>][] = [
  ["Node", async () => ["node"]],
  ["Bun", async () => [process.execPath]],
  ["Deno", async () => ["node", join(await installProgram(DENO), "bin.cjs"), "run", "-A", "--cached-only"]],
];
/** What the packed file may weigh: whoever installs the package downloads it. */
const PACKED_BYTES_MAX = 70_000;
const WHEEL_BYTES_MAX = 50_000;
const INSTALL_MS = 120_000;
const RUN_MS = 60_000;

const hasPython = requireTool("python3", PYTHON_HINT);
const hasPythonOfSdk = hasPython && requirePythonOfSdk();
const home = mkdtempSync(join(tmpdir(), "sealpost-sdk-"));
const project = new Project(home);
const pythonProject = new PythonProject(home);
const blocks = readBlocks(DOC_PAGES.get("sdk") ?? "");

beforeAll(async () => {
  await Promise.all([
    project.install(programOf("in a terminal"), programOf("in a project")),
    installProgram(DENO),
    installProgram(WORKERD),
  ]);
  await Promise.all([
    project.compile({
      "journey.ts": JOURNEY,
      "first.ts": programOf("first steps"),
      "receiver.ts": programOf("a receiver"),
    }),
    hasPythonOfSdk && pythonProject.install(programOf("in a Python project")),
  ]);
}, INSTALL_MS);
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** The blocks of the page that are one program. */
function programOf(info: string): string {
  const parts = blocks.filter((block) => block.info === info);
  return parts.map(({ text }) => text).join("\n");
}

/** What the page says that the program prints. */
function outputOf(info: string): Block {
  const shown = blocks.filter(({ language }, at) => language === "text" && blocks[at - 1]?.info === info);
  return { language: "text", info: "", text: shown.map(({ text }) => text).join(""), line: 0 };
}

/** The program of the page's first steps, for another service. */
function firstStepsFor(url: string, receiver: string, program: string): string {
  return program.replaceAll("http://localhost:8080", url).replaceAll("http://127.0.0.1:9000/", receiver);
}

test("the packed file is small, and holds what is compiled and nothing else", () => {
  const { path: packed, files } = project.packed;
  const { size } = Bun.file(packed);
  console.error(`${manifest.name} packed: ${size} bytes`);
  expect(size).toBeLessThan(PACKED_BYTES_MAX);
  const others = files.filter((path) => !/^lib\/[\w.]+\.(js|d\.ts)$/.test(path));
  expect(others.toSorted()).toEqual(["LICENSE", "README.md", "package.json"]);
});

/**
 * Stands before the service and cuts the first connection once the service has answered, so that the answer
 * is lost.
 */
async function startCutting(url: string) {
  const [port = 0] = await freePorts(1);
  let connections = 0;
  const server = createServer((near) => {
    const isFirst = ++connections === 1;
    const far = connect(Number(new URL(url).port), "127.0.0.1");
    near.on("error", () => far.destroy());
    far.on("error", () => near.destroy());
    near.pipe(far);
    if (isFirst) far.once("data", () => near.destroy());
    else far.pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${port}`, connections: () => connections, close: () => server.close() };
}

/** What a journey finds at a service of its own; `run` runs it and gives what it printed. */
async function travel(run: (env: Record<string, string>) => Promise<string>): Promise<unknown> {
  await using receiver = startReceiver();
  receiver.at("trips", ({ body }, nth) => {
    const isLost = body.includes("trip.lost") && nth < 8;
    return new Response(null, { status: isLost ? 500 : 204 });
  });
  await using fresh = await startService();
  const cutting = await startCutting(fresh.url);
  const places = { SERVICE: fresh.url, CUT: cutting.url, RECEIVER: receiver.url("trips") };
  const printed = await run({ ...places, KEY: fresh.keys.test });
  cutting.close();
  expect(cutting.connections()).toBe(2);
  // Five trips, one that was published twice and came once, one that failed and was sent again.
  expect(receiver.requests("trips").length).toBe(8);
  return JSON.parse(printed);
}

describe("a project of strict types", () => {
  test.each(RUNTIMES)(
    "publishes, lists, fails, and replays in %s",
    async (_name, command) => {
      const start = await command();
      expect(await travel((env) => project.run([...start, "journey.js"], env))).toEqual(FOUND);
    },
    RUN_MS,
  );

  test(
    "that is a page has the types of a browser",
    async () => {
      const page = `import { Sealpost } from "${manifest.name}";
        export const page = new Sealpost({ url: location.origin, key: "k" }).events.list().page();`;
      await project.checkForBrowsers("page.ts", page);
    },
    RUN_MS,
  );
});

describe("the verifier says what the vectors say", () => {
  const expected = VECTORS.map(({ name, verdict }) => `${name}: ${verdict}`);

  beforeAll(async () => {
    const transpiler = new Bun.Transpiler({ loader: "ts" });
    const verdict = await Bun.file(join(import.meta.dir, "../sdk/verdict.ts")).text();
    await project.write("verdict.js", transpiler.transformSync(verdict));
    await project.write("vectors.js", `export default ${JSON.stringify(VECTORS)};`);
    await project.write(
      "verdicts.js",
      `import * as verifier from "${manifest.name}/verify";
      import { verdictOf } from "./verdict.js";
      import vectors from "./vectors.js";
      export async function verdicts() {
        const found = vectors.map(async (one) => one.name + ": " + (await verdictOf(verifier, one)));
        return JSON.stringify(await Promise.all(found));
      }`,
    );
    await project.write(
      "print.js",
      'import { verdicts } from "./verdicts.js";\nconsole.log(await verdicts());',
    );
  });

  test.each(RUNTIMES)(
    "in %s",
    async (_name, command) => {
      const printed = await project.run([...(await command()), "print.js"]);
      expect(JSON.parse(printed)).toEqual(expected);
    },
    RUN_MS,
  );

  test.skipIf(!hasChromium)(
    "in Chromium",
    async () => {
      const imports = { [`${manifest.name}/verify`]: `/node_modules/${manifest.name}/lib/verify.js` };
      const html = `<!doctype html><script type="importmap">${JSON.stringify({ imports })}</script>`;
      const server = Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        fetch: ({ url }) => {
          const { pathname } = new URL(url);
          if (pathname === "/") return new Response(html, { headers: { "content-type": "text/html" } });
          if (!pathname.endsWith(".js")) return new Response(null, { status: 204 });
          return new Response(Bun.file(join(project.folder, pathname)));
        },
      });
      await using browser = await startBrowser();
      await using opened = await browser.open(`http://127.0.0.1:${server.port}/`);
      const printed = await opened.page.evaluate<string>(
        'import("/verdicts.js").then(({ verdicts }) => verdicts())',
      );
      await server.stop(true);
      expect(JSON.parse(printed)).toEqual(expected);
    },
    RUN_MS,
  );

  test(
    "in workerd, where the client publishes too",
    async () => {
      await using fresh = await startService();
      const lib = `node_modules/${manifest.name}/lib`;
      await project.write(
        "worker.js",
        `import { Sealpost } from "./${lib}/index.js";
        import { verdicts } from "./verdicts.js";
        async function publish(request) {
          const event = await new Sealpost(await request.json()).events.publish({ type: "a.b", data: {} });
          return Response.json(event);
        }
        const judge = async () => new Response(await verdicts());
        export default { fetch: (request) => (request.method === "POST" ? publish(request) : judge()) };`,
      );
      const client = project.packed.files.filter((path) => path.endsWith(".js"));
      await using worker = await startWorker(project, [
        ...["worker.js", "verdicts.js", "verdict.js", "vectors.js"],
        ...client.map((path) => `node_modules/${manifest.name}/${path}`),
        [`${manifest.name}/verify`, `${lib}/verify.js`],
      ]);
      expect(await (await fetch(worker.url)).json()).toEqual(expected);
      const body = JSON.stringify({ url: fresh.url, key: fresh.keys.test });
      const published = await fetch(worker.url, { method: "POST", body });
      expect(await published.json()).toMatchObject({ type: "a.b", duplicate: false });
    },
    RUN_MS,
  );
});

/** Asks the published verifier of Python about each vector of standard input, at the vector's own time. */
const PYTHON = `
import base64, datetime, json, sys
import standardwebhooks.webhooks as library

def is_genuine(vector):
    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.datetime.fromtimestamp(vector["at"], tz)
    library.datetime = Clock
    for secret in vector["secrets"]:
        try:
            webhook = library.Webhook(secret)
            webhook.verify(base64.b64decode(vector["body_base64"]), vector["headers"], json_parse=False)
            return True
        except Exception:
            pass
    return False

print(json.dumps([is_genuine(vector) for vector in json.load(open("vectors.json"))]))
`;

test.skipIf(!hasPython)(
  "the published verifier of Python says what the vectors say, but for those that are optional",
  async () => {
    // It knows v1 alone, and takes secrets of any length and without their prefix.
    const asked = VECTORS.filter(
      ({ verdict, secrets }) =>
        verdict !== "malformed_secret" && secrets.every((secret) => secret.startsWith("whsec_")),
    );
    await project.write("vectors.json", JSON.stringify(asked));
    const python = join(await installPython([STANDARD_WEBHOOKS]), "bin/python");
    const said = JSON.parse(await project.run([python, "-c", PYTHON])) as boolean[];
    const differing = asked.filter(({ verdict }, at) => said[at] !== (verdict === "valid"));
    expect(said.length).toBe(asked.length);
    expect(differing.filter(({ optional }) => optional !== true).map(({ name }) => name)).toEqual([]);
  },
  RUN_MS,
);

/** The same delivery, whose body begins with a byte order mark. */
function markedOf(sample: Sample): Sample {
  const body = `\ufeff${sample.body}`;
  const [id = "", at = ""] = ["webhook-id", "webhook-timestamp"].map((name) => sample.headers[name]);
  const signature = new Published(sample.secret).sign(id, new Date(Number(at) * 1000), body);
  return { ...sample, body, headers: { ...sample.headers, "webhook-signature": signature } };
}

describe("the page about it", () => {
  test.each(RUNTIMES)(
    "shows first steps that print what it says, in %s",
    async (_name, command) => {
      await using receiver = startReceiver();
      await using fresh = await startService();
      const compiled = await Bun.file(join(project.folder, "first.js")).text();
      await project.write("started.js", firstStepsFor(fresh.url, receiver.url("page"), compiled));
      const printed = await project.run([...(await command()), "started.js"], {
        SEALPOST_API_KEY: fresh.keys.test,
      });
      expect(findDifference(outputOf("first steps"), printed)).toBeNull();
    },
    RUN_MS,
  );

  test(
    "shows a receiver that takes a genuine delivery and no forged one",
    async () => {
      const sample = await takeDelivery();
      const driver = `import { receive } from "./receiver.js";
        const statuses = [];
        for (const { body, headers } of JSON.parse(process.env.SAMPLES)) {
          const answer = await receive(new Request("http://localhost/", { method: "POST", body, headers }));
          statuses.push([answer.status, await answer.text()]);
        }
        console.log(JSON.stringify(statuses));`;
      await project.write("deliver.js", driver);
      const marked = markedOf(sample);
      const env = {
        WEBHOOK_SECRET: sample.secret,
        SAMPLES: JSON.stringify([sample, forge(sample), marked]),
      };
      const printed = (await project.run(["node", "deliver.js"], env)).trim().split("\n");
      const [taken, takenMarked, statuses = ""] = printed;
      const id = sample.headers["webhook-id"];
      expect([taken, takenMarked]).toEqual([`${id} ${sample.body}`, `${id} ${marked.body}`]);
      expect(JSON.parse(statuses)).toEqual([
        [200, "thank you"],
        [401, "wrong_signature"],
        [200, "thank you"],
      ]);
    },
    RUN_MS,
  );
});

/** A file of the tests of what is written in Python. */
const testFile = (name: string) => Bun.file(join(import.meta.dir, "../sdk/python", name)).text();

describe.skipIf(!hasPythonOfSdk)("the package of Python", () => {
  test("is a small wheel, of the package and nothing else", () => {
    const { path, files } = pythonProject.packed;
    const { size } = Bun.file(path);
    console.error(`the wheel: ${size} bytes`);
    expect(size).toBeLessThan(WHEEL_BYTES_MAX);
    expect(files.length).toBeGreaterThan(10);
    const others = files.filter((name) => !/^sealpost\/\w+\.py$/.test(name));
    expect(others.map((name) => name.replace(/^.*\//, "")).toSorted()).toEqual([
      ...["LICENSE", "METADATA", "RECORD", "WHEEL", "py.typed"],
    ]);
  });

  test("needs no other package", async () => {
    const listed = await pythonProject.run([".venv/bin/pip", "list", "--format", "freeze"]);
    const names = listed
      .trim()
      .split("\n")
      .map((line) => line.split("==")[0]);
    expect(names.filter((name) => name !== "pip" && name !== "setuptools")).toEqual(["sealpost-sdk"]);
  });

  test(
    "publishes, lists, fails, and replays",
    async () => {
      await pythonProject.write("journey.py", await testFile("journey.py"));
      expect(await travel((env) => pythonProject.python(["journey.py"], env))).toEqual(FOUND_IN_PYTHON);
    },
    RUN_MS,
  );

  test(
    "does what the page shows",
    async () => {
      await using receiver = startReceiver();
      await using fresh = await startService();
      const program = firstStepsFor(fresh.url, receiver.url("page"), programOf("first steps in Python"));
      await pythonProject.write("first.py", program);
      const printed = await pythonProject.python(["first.py"], { SEALPOST_API_KEY: fresh.keys.test });
      expect(findDifference(outputOf("first steps in Python"), printed)).toBeNull();
    },
    RUN_MS,
  );

  test(
    "takes a genuine delivery and no forged one, in the receiver of the page",
    async () => {
      const sample = await takeDelivery();
      const samples = [sample, forge(sample), markedOf(sample)];
      await pythonProject.write("receiver.py", programOf("a receiver in Python"));
      await pythonProject.write("samples.json", JSON.stringify(samples));
      const driver = `
import json
from receiver import receive
samples = json.load(open("samples.json", encoding="utf-8"))
print(json.dumps([receive(one["headers"], one["body"].encode()) for one in samples]))`;
      const env = { WEBHOOK_SECRET: sample.secret, PYTHONUTF8: "1" };
      const printed = (await pythonProject.python(["-X", "dev", "-c", driver], env)).trim().split("\n");
      const id = sample.headers["webhook-id"];
      expect(printed.slice(0, 2)).toEqual([`${id} ${sample.body}`, `${id} \ufeff${sample.body}`]);
      expect(JSON.parse(printed[2] ?? "")).toEqual([
        [200, "thank you"],
        [401, "wrong_signature"],
        [200, "thank you"],
      ]);
    },
    RUN_MS,
  );

  test(
    "says what v1a needs, and with that what the vectors say",
    async () => {
      const key = Object.keys(PRIVATE_KEYS)[0] ?? "";
      const construct = `from sealpost.verify import Webhook; Webhook("${key}")`;
      expect(pythonProject.python(["-c", construct])).rejects.toThrow('pip install "sealpost-sdk[ed25519]"');
      await pythonProject.installMore();
      await pythonProject.write("vectors.json", JSON.stringify(VECTORS));
      await pythonProject.write("verdict.py", await testFile("verdict.py"));
      const driver = `
import json
from verdict import verdict_of
print(json.dumps([verdict_of(vector) for vector in json.load(open("vectors.json", encoding="utf-8"))]))`;
      const said = JSON.parse(await pythonProject.python(["-c", driver])) as string[];
      expect(VECTORS.map(({ name }, at) => `${name}: ${said[at]}`)).toEqual(
        VECTORS.map(({ name, verdict }) => `${name}: ${verdict}`),
      );
    },
    RUN_MS,
  );

  test(
    "has types that the strictest checker takes, and that find what is wrong",
    async () => {
      await pythonProject.check("journey.py", "first.py", "receiver.py");
    },
    RUN_MS,
  );
});

test(
  "a build where python3 is missing leaves no wheel of an earlier one",
  async () => {
    expect(await wheelsWithoutPython(join(home, "programs"))).toEqual([]);
  },
  RUN_MS,
);
