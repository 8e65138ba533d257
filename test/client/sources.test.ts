import { expect, test } from "bun:test";
import { Api } from "../../src/client/api.ts";
import { findSource } from "../../src/client/sources.ts";
import { startService } from "../kit/service.ts";
import { call } from "./listening.ts";

test("a source is found by its id or its name, unless several have the name", async () => {
  await using service = await startService();
  const make = (name: string) =>
    call<{ id: string }>(service, "POST", "/v1/sources", { provider: "service", name });
  const [one, two] = [await make("one"), await make("two"), await make("two")];
  const api = new Api({ url: service.url, key: service.keys.test });
  expect(await findSource(api, one.id)).toMatchObject({ name: "one" });
  expect(await findSource(api, "one")).toMatchObject({ id: one.id, provider: "service" });
  expect(await findSource(api, two.id)).toMatchObject({ name: "two" });
  await expect(findSource(api, "two")).rejects.toThrow(`Several sources are called two: `);
  await expect(findSource(api, "three")).rejects.toThrow("no source with the id or name three");
});
