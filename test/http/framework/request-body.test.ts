/** How a body is read: content type, size, JSON, depth. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import fc from "fast-check";
import { Problem } from "../../../src/core/errors.ts";
import { parseJson } from "../../../src/http/framework/request-body.ts";
import { expectProblem, sendRaw, startServer, type RequestBody, type TestServer } from "../kit.ts";
import { testRoutes } from "../routes.ts";

let server: TestServer;

beforeAll(() => {
  server = startServer(testRoutes);
});

afterAll(() => server.stop(0));

describe("the content type", () => {
  const json = [
    "application/json",
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8",
    'Application/JSON; charset="utf-8"',
  ];
  const other = [
    "text/plain",
    "application/jsonp",
    "application/json; charset=latin1",
    "application/json, text/plain",
    "application/x-www-form-urlencoded",
  ];

  test.each(json)("%s is taken", async (type) => {
    const reply = await server.send("POST", "/v1/things/a", {
      body: '{"name":"x"}',
      headers: { "content-type": type },
    });
    expect(reply.status).toBe(201);
  });

  test.each(other)("%s is 415", async (type) => {
    const reply = await server.send("POST", "/v1/things/a", {
      body: '{"name":"x"}',
      headers: { "content-type": type },
    });
    expectProblem(reply, 415, "unsupported_media_type");
  });

  test("of a merge patch is taken by what is patched, and by nothing else", async () => {
    for (const type of ["application/merge-patch+json", "Application/Merge-Patch+JSON"]) {
      const headers = { "content-type": type };
      expect((await server.send("PATCH", "/v1/things/a", { body: "{}", headers })).status).toBe(200);
      const posted = await server.send("POST", "/v1/things/a", { body: '{"name":"x"}', headers });
      expectProblem(posted, 415, "unsupported_media_type");
    }
    for (const type of ["application/json-patch+json", "application/merge-patch", "text/plain"]) {
      const reply = await server.send("PATCH", "/v1/things/a", {
        body: "{}",
        headers: { "content-type": type },
      });
      expectProblem(reply, 415, "unsupported_media_type");
      expect(reply.json.detail).toContain("application/merge-patch+json");
    }
  });

  test("that is missing is 415 where there is a body, and no matter where there is none", async () => {
    const head = "POST /v1/empty HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer full\r\nConnection: close\r\n";
    expect(await sendRaw(server.port, `${head}Content-Length: 2\r\n\r\n{}`)).toStartWith("HTTP/1.1 415 ");
    expect(await sendRaw(server.port, `${head}Content-Length: 0\r\n\r\n`)).toStartWith("HTTP/1.1 200 ");
    expect(await sendRaw(server.port, `${head}\r\n`)).toStartWith("HTTP/1.1 200 ");
  });

  test("with a content-encoding is 415", async () => {
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    const reply = await server.send("POST", "/v1/things/a", { body: Bun.gzipSync('{"name":"x"}'), headers });
    expectProblem(reply, 415, "unsupported_media_type");
  });

  test("is of no concern to an opaque route, which gets the bytes as they came", async () => {
    const body = new Uint8Array([0, 255, 13, 10]);
    const reply = await server.send("POST", "/opaque/a?token=x&token=y", {
      body,
      headers: { "content-type": "image/png" },
    });
    expect(reply.json).toEqual({ bytes: [0, 255, 13, 10] });
  });
});

describe("the size of a body", () => {
  const max = 1000;
  const bodyOf = (size: number) => `{"name":"${"x".repeat(size - 11)}"}`;
  const headers = { "content-type": "application/json" };
  const chunked = (body: string) =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < body.length; at += 100)
          controller.enqueue(Buffer.from(body.slice(at, at + 100)));
        controller.close();
      },
    });

  test("may be the limit to the byte, with a length and in chunks", async () => {
    const body = bodyOf(max);
    expect(body.length).toBe(max);
    expect((await server.send("POST", "/v1/small", { body, headers })).json).toEqual({ size: max });
    expect((await server.send("POST", "/v1/small", { body: chunked(body), headers })).json).toEqual({
      size: max,
    });
  });

  test("above the limit by one byte is 413, with a length and in chunks", async () => {
    const body = bodyOf(max + 1);
    for (const form of [body, chunked(body)]) {
      const reply = await server.send("POST", "/v1/small", { body: form, headers });
      expectProblem(reply, 413, "payload_too_large");
      expect(reply.json.detail).toContain("1000 bytes");
    }
  });

  test("is counted for raw and opaque routes too", async () => {
    const body = bodyOf(max + 1);
    expectProblem(await server.send("POST", "/v1/raw", { body, headers }), 413, "payload_too_large");
    expectProblem(await server.send("POST", "/opaque/a", { body }), 413, "payload_too_large");
  });

  test("that is only announced is refused without waiting for it", async () => {
    const answer = new Promise<string>((resolve) => {
      const socket = connect(server.port, "127.0.0.1", () => {
        socket.write("POST /v1/small HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer full\r\n");
        socket.write("Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n");
      });
      socket.once("data", (data) => {
        socket.destroy();
        resolve(data.toString());
      });
    });
    expect(await answer).toStartWith("HTTP/1.1 413 ");
  });
});

describe("the JSON of a body", () => {
  const headers = { "content-type": "application/json" };
  const post = (body: RequestBody, path = "/v1/things/a") => server.send("POST", path, { body, headers });
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

  const broken: [string, RequestBody][] = [
    ["nothing where a field is required", ""],
    ["half of it", '{"name":"MARKER-7'],
    ["two values", "{} {}"],
    ["not JSON", "name=MARKER-7"],
    ["NaN", '{"name":NaN}'],
    ["a byte order mark", "\ufeff{}"],
    ["invalid UTF-8", new Uint8Array([0x22, 0xff, 0x22])],
    ["UTF-8 of a surrogate", new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ["UTF-16", Buffer.from('{"name":"x"}', "utf16le")],
    ["an open string with brackets", `"${"[".repeat(100)}`],
  ];

  test.each(broken)("that is %s is 400", async (_name, body) => {
    const reply = await post(body);
    expectProblem(reply, 400, "invalid_json");
    expect(reply.text).not.toContain("MARKER-7");
  });

  test("may be empty where every field is optional", async () => {
    expect((await post("", "/v1/optional")).json).toEqual({ body: {} });
    expect((await post("{}", "/v1/optional")).json).toEqual({ body: {} });
    expectProblem(await post("null", "/v1/optional"), 422, "invalid_request");
  });

  test("may be 64 levels deep and no deeper", async () => {
    expect((await post(`{"deep":${nested(63)}}`, "/v1/deep")).status).toBe(200);
    const reply = await post(`{"deep":${nested(64)}}`, "/v1/deep");
    expectProblem(reply, 422, "invalid_request");
    expect(reply.json.errors).toEqual([{ pointer: "", detail: "Expected JSON of at most 64 levels." }]);
  });

  test("is as deep as its value is, whatever stands in it", () => {
    const depthOf = (value: unknown): number =>
      typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 58, max: 65 }), (value, levels) => {
        const bytes = Buffer.from(`${"[".repeat(levels)}${JSON.stringify(value)}${"]".repeat(levels)}`);
        if (levels + depthOf(value) <= 64) expect(parseJson(bytes)).toBeArray();
        else expect(() => parseJson(bytes)).toThrow(Problem);
      }),
    );
  });

  test("is not deep through siblings or what stands in strings", async () => {
    const siblings = `[${Array.from({ length: 200 }, () => "[{}]").join(",")}]`;
    const strings = JSON.stringify({ '[{"\\"[{': `${"[{".repeat(100)}\\"` });
    expect((await post(`{"deep":${siblings}}`, "/v1/deep")).status).toBe(200);
    expect((await post(`{"deep":${strings}}`, "/v1/deep")).status).toBe(200);
  });
});
