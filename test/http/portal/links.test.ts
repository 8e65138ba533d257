/** Portal links over the whole service: made, used, listed, expired, revoked. */
import { describe, expect, test } from "bun:test";
import { startApp } from "../../kit/app.ts";
import { appForFile, receiverForFile } from "../../kit/for-file.ts";
import { expectProblem } from "../kit.ts";
import { PNG } from "../pictures.ts";

const app = appForFile();
const receiver = receiverForFile();

interface Link {
  id: string;
  url: string;
  consumer_id: string | null;
  manage: boolean;
  create: boolean;
  expires_at: string;
  created_at: string;
  embed_html?: string;
}

const create = (body: Record<string, unknown>) => app.live.create<Link>("/v1/portal-links", body);
const tokenOf = ({ url }: Link) => url.slice(url.indexOf("#") + 1);
/** Speaks with the token of a new link. */
const opened = async (body: Record<string, unknown>) => app.with(tokenOf(await create(body)));

describe("a portal link", () => {
  test("is made with its grants, for a day unless said otherwise, its token in the fragment", async () => {
    const { json: project } = await app.live.get("/v1/project");
    const { id, url, expires_at, created_at, ...rest } = await create({ consumer_id: "anna", manage: true });
    expect(id).toMatch(/^plk_[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(url).toMatch(/#spl_00[0-9A-Za-z]{49}$/);
    expect(url.split("#")[0]).toBe(`https://hooks.example.com/portal/${String(project["id"])}`);
    expect(Date.parse(expires_at) - Date.parse(created_at)).toBeWithin(86_399_000, 86_401_000);
    expect(rest).toEqual({ consumer_id: "anna", manage: true, create: false });
    const short = await create({ expires_in_seconds: 60 });
    expect(Date.parse(short.expires_at) - Date.parse(short.created_at)).toBeWithin(59_000, 61_001);
  });

  test.each([
    [{ manage: true }, "/consumer_id"],
    [{ create: true }, "/consumer_id"],
    [{ consumer_id: "" }, "/consumer_id"],
    [{ consumer_id: "a", expires_in_seconds: 59 }, "/expires_in_seconds"],
    [{ consumer_id: "a", expires_in_seconds: 604_801 }, "/expires_in_seconds"],
    [{ consumer_id: "a", delete: true }, "/delete"],
  ])("is refused as %j", async (body, pointer) => {
    const reply = await app.live.post("/v1/portal-links", body);
    expectProblem(reply, 422, "invalid_request");
    expect(reply.json.errors?.map((fault) => fault.pointer)).toEqual([pointer]);
  });

  test("is listed without its token, by consumer and page by page, and no other project sees it", async () => {
    const made = [await create({ consumer_id: "list" }), await create({ consumer_id: "list" })];
    const first = await app.live.get("/v1/portal-links?consumer_id=list&limit=1");
    expect(first.text).not.toContain("spl_");
    expect(first.json["data"]).toMatchObject([{ id: made[1]?.id, consumer_id: "list" }]);
    const cursor = String(first.json["next_cursor"]);
    const second = await app.live.get(`/v1/portal-links?consumer_id=list&limit=1&cursor=${cursor}`);
    expect(second.json).toMatchObject({ data: [{ id: made[0]?.id }], next_cursor: null });
    expect((await app.test.get("/v1/portal-links")).json["data"]).toEqual([]);
    expectProblem(await app.test.delete(`/v1/portal-links/${made[0]?.id}`), 404, "not_found");
    expectProblem(await app.live.delete("/v1/portal-links/plk_x"), 404, "not_found");
  });

  test("opens nothing any more from the moment it is revoked", async () => {
    const link = await create({ consumer_id: "anna" });
    const anna = app.with(tokenOf(link));
    expect((await anna.get("/v1/portal")).status).toBe(200);
    expect((await app.live.delete(`/v1/portal-links/${link.id}`)).status).toBe(204);
    expectProblem(await anna.get("/v1/portal"), 401, "unauthenticated");
    expectProblem(await app.live.delete(`/v1/portal-links/${link.id}`), 404, "not_found");
  });

  test("survives a restart", async () => {
    await using other = await startApp();
    const { url } = await other.live.create<Link>("/v1/portal-links", { consumer_id: "anna" });
    await other.stop();
    await other.start();
    expect((await other.with(url.split("#")[1] ?? "").get("/v1/portal")).status).toBe(200);
  });

  test("is kept for its Idempotency-Key without what opens it", async () => {
    const body = { consumer_id: "anna", embed: true };
    const first = await app.live.post("/v1/portal-links", body, { "idempotency-key": "link" });
    const again = await app.live.post("/v1/portal-links", body, { "idempotency-key": "link" });
    expect([again.status, again.json["id"]]).toEqual([201, first.json["id"]]);
    expect(again.text).not.toContain("spl_");
  });

  test("makes and revokes no links, nor does a key that only reads make any", async () => {
    const link = await create({ consumer_id: "anna", manage: true, create: true });
    const anna = app.with(tokenOf(link));
    expectProblem(await anna.post("/v1/portal-links", {}), 403, "forbidden");
    expectProblem(await anna.get("/v1/portal-links"), 403, "forbidden");
    expectProblem(await anna.delete(`/v1/portal-links/${link.id}`), 403, "forbidden");
    const { key } = await app.live.create("/v1/api-keys", { name: "reads", scopes: ["read"] });
    expectProblem(await app.with(key ?? "").post("/v1/portal-links", {}), 403, "forbidden");
  });

  test("never stands in the log", async () => {
    const link = await create({ consumer_id: "anna" });
    await app.with(tokenOf(link)).get("/v1/portal");
    expect(app.log()).not.toContain(tokenOf(link).slice(0, 20));
  });
});

describe("embed_html", () => {
  /** What an HTML parser reads in it: one element with these attributes, and nothing else. */
  async function parse(html: string): Promise<[string, Map<string, string>][]> {
    const found: [string, Map<string, string>][] = [];
    const rewriter = new HTMLRewriter().on("*", {
      element: (element) => void found.push([element.tagName, new Map(element.attributes)]),
    });
    await rewriter.transform(new Response(html)).text();
    return found;
  }

  test("is one sandboxed frame that carries name, logo and colour, whatever they hold", async () => {
    const name = `Ac"me' <script>alert(1)</script> & Söhne`;
    const logo = receiver.at("logo.png", () => new Response(PNG));
    await app.live.patch("/v1/project", { branding: { name, color: "#0f62fe", logo_url: logo } });
    const { embed_html: html = "", url } = await create({ consumer_id: "anna", embed: true });
    const [[tag, attributes] = ["", new Map()], ...others] = await parse(html);
    expect([tag, others]).toEqual(["iframe", []]);
    const text = (attribute: string) =>
      attributes
        .get(attribute)
        ?.replaceAll("&lt;", "<")
        .replaceAll("&gt;", ">")
        .replaceAll("&quot;", '"')
        .replaceAll("&#x27;", "'")
        .replaceAll("&amp;", "&");
    expect(text("title")).toBe(name);
    expect(text("src")).toBe(url);
    expect(text("data-color")).toBe("#0f62fe");
    expect(text("data-logo")).toMatch(/^https:\/\/hooks\.example\.com\/portal\/proj_\w+\/logo\?v=[0-9a-f]+$/);
    expect(text("sandbox")).toContain("allow-scripts");
    expect(text("sandbox")).not.toContain("allow-top-navigation");
  });

  test("leaves out what the project has not, and stands only where it was asked for", async () => {
    const link = await app.test.create<Link>("/v1/portal-links", { embed: true });
    expect(link.embed_html).toContain('title="test"');
    expect(link.embed_html).not.toContain("data-logo");
    expect(link.embed_html).not.toContain("data-color");
    expect(await create({})).not.toHaveProperty("embed_html");
  });
});

describe("GET /v1/portal", () => {
  test("says what a token may, until when, and how the project shows itself", async () => {
    await app.live.patch("/v1/project", { branding: { name: "Acme", color: "#0F62FE", logo_url: null } });
    const link = await create({ consumer_id: "anna", create: true });
    const { json } = await app.with(tokenOf(link)).get("/v1/portal");
    expect(json as unknown).toEqual({
      kind: "portal",
      project_id: (await app.live.get("/v1/project")).json["id"],
      consumer_id: "anna",
      manage: false,
      create: true,
      expires_at: link.expires_at,
      mode: "live",
      branding: { name: "Acme", logo_url: null, color: "#0F62FE" },
    });
  });

  test("answers a key too: it is of no consumer and does not end with a link", async () => {
    const { json } = await app.test.get("/v1/portal");
    expect(json).toMatchObject({
      kind: "api_key",
      consumer_id: null,
      manage: true,
      create: true,
      expires_at: null,
      mode: "test",
      branding: { name: "test" },
    });
  });
});

describe("a link to the whole project", () => {
  test("reads every endpoint and changes none", async () => {
    const all = await opened({});
    const { id } = await app.live.create("/v1/endpoints", { url: receiver.url("all"), consumer_id: "carl" });
    expect((await all.get(`/v1/endpoints/${id}`)).status).toBe(200);
    expect((await all.get("/v1/stats")).status).toBe(200);
    for (const [method, path, json] of [
      ["POST", "/v1/endpoints", { url: receiver.url("all") }],
      ["PATCH", `/v1/endpoints/${id}`, { description: "x" }],
      ["DELETE", `/v1/endpoints/${id}`, undefined],
      ["GET", `/v1/endpoints/${id}/secret`, undefined],
      ["POST", `/v1/endpoints/${id}/test`, {}],
      ["POST", "/v1/replays", {}],
      ["POST", "/v1/events", { type: "a", data: {} }],
      ["GET", "/v1/sources", undefined],
    ] as const) {
      expectProblem(await all.send(method, path, { json }), 403, "forbidden");
    }
  });

  test("has Idempotency-Keys of its own, apart from the project's and any consumer's", async () => {
    const body = { event: { type: "a", data: {} } };
    const key = { "idempotency-key": "shared" };
    const tokens = [await opened({}), await opened({ consumer_id: "anna" }), app.live];
    for (const [at, client] of tokens.entries()) {
      const reply = await client.post("/v1/endpoints/preview", { ...body, filter: { type: `t${at}` } }, key);
      expect([at, reply.status, reply.headers.get("idempotency-replayed")]).toEqual([at, 200, null]);
    }
  });
});

describe("a consumer's token", () => {
  interface Page {
    data: { id: string; consumer_id?: string | null }[];
    next_cursor: string | null;
  }

  test("finds nothing of others by any filter, not even where to read on", async () => {
    const { id: source } = await app.live.create("/v1/sources", { provider: "service", name: "s" });
    const url = receiver.url("others");
    const { id: endpoint } = await app.live.create("/v1/endpoints", { url, consumer_id: "bert" });
    const { json: event } = await app.live.post("/v1/events", { type: "a.b", data: {}, consumer_id: "bert" });
    await receiver.arrived("others");
    const dana = await opened({ consumer_id: "dana", manage: true, create: true });
    const queries = [
      `/v1/events?endpoint_id=${endpoint}`,
      `/v1/events?source_id=${source}`,
      "/v1/events?consumer_id=bert",
      "/v1/events?type=a.*",
      `/v1/deliveries?endpoint_id=${endpoint}`,
      `/v1/deliveries?event_id=${String(event["id"])}`,
      `/v1/deliveries?endpoint_id=${endpoint}&status=dead`,
      "/v1/deliveries?status=dead",
      "/v1/deliveries?consumer_id=bert",
      "/v1/endpoints?consumer_id=bert",
      "/v1/replays",
    ];
    for (const query of queries) {
      const { json } = await dana.get(query);
      expect([query, json as unknown as Page]).toEqual([query, { data: [], next_cursor: null }]);
    }
    const { json: stats } = await dana.get("/v1/stats");
    expect(stats["data"]).toEqual([]);
    const { json: dry } = await dana.post("/v1/replays", { status: ["delivered", "dead"], dry_run: true });
    expect(dry["matched"]).toBe(0);
  });
});
