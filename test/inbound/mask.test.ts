import { expect, spyOn, test } from "bun:test";
import { masked } from "../../src/inbound/mask.ts";

test("what proved a request is masked at every path, and the rest stays as it was spelled", async () => {
  const data = '{ "value": [ {"proof":"a", "n":1.50}, {"proof":["b","c"]} ], "token":"d" }';
  expect(await masked(data, ["value.*.proof", "token"])).toBe(
    '{ "value": [ {"proof":"***", "n":1.50}, {"proof":"***"} ], "token":"***" }',
  );
});

test("an object holds proofs and is none; where there is none at all, nothing can be shown", async () => {
  const data = '{"signature":{"signature":"a"}}';
  expect(await masked(data, ["signature.signature", "signature"])).toBe('{"signature":{"signature":"***"}}');
  expect(await masked(data, ["signature"])).toBeNull();
  expect(await masked('{"value":[]}', ["value.*.proof"])).toBeNull();
});

test("paths that lead to one place, or into one another, mask it once", async () => {
  expect(await masked('{"list":["a","b"]}', ["list.*", "list", "list.0"])).toBe('{"list":"***"}');
  expect(await masked('{"a":"1"}', ["a", "a"])).toBe('{"a":"***"}');
});

test("very many proofs cost what their bytes do: no piece of the text is copied twice", async () => {
  const many = Array.from({ length: 50_000 }, () => '{"clientState":"s"}').join(",");
  using slice = spyOn(String.prototype, "slice");
  expect((await masked(`{"value":[${many}]}`, ["value.*.clientState"]))?.includes('"s"')).toBe(false);
  const copied = slice.mock.results.reduce((sum, { value }) => sum + String(value).length, 0);
  expect(copied).toBeLessThan(2 * many.length);
});
