import { afterAll, describe, expect, test } from "bun:test";
import { askCells } from "../../src/cells/operator.ts";

/** What each machine answers, by its name. */
const servers = { standby: serve(503), primary: serve(200), stranger: serve(401) };

function serve(status: number) {
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ headers }) => Response.json({ detail: headers.get("authorization") }, { status }),
  });
}

afterAll(async () => {
  for (const server of Object.values(servers)) await server.stop(true);
});

const at = (name: keyof typeof servers) => `127.0.0.1:${servers[name].port}`;
const ask = async (...machines: string[]) => {
  const [told] = await askCells([{ cell: "00", machines }], "token", (get) => get("/metrics"));
  return told;
};

describe("a cell", () => {
  test("is asked at the machine that is no standby, and alive", async () => {
    const value = '{"detail":"Bearer token"}';
    expect(await ask("127.0.0.1:9", at("standby"), at("primary"))).toEqual({ cell: "00", value });
  });

  test("that refuses says why", async () => {
    const told = await ask(at("stranger"), at("primary"));
    expect(told).toEqual({ cell: "00", problem: `${at("stranger")} answers 401: Bearer token` });
  });

  test("of which no machine is ready says it of the last", async () => {
    const told = await ask("127.0.0.1:9", at("standby"));
    expect(told).toEqual({ cell: "00", problem: `${at("standby")} answers 503: Bearer token` });
  });
});
