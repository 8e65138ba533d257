import { expect, test } from "bun:test";
import { Uploads } from "../../src/replica/uploads.ts";

test("an upload that throws has failed, for whoever shares it, and the next one goes on", async () => {
  let count = 0;
  const first = Promise.withResolvers<null>();
  const upload = async () => {
    if (++count === 1) return first.promise;
    if (count === 2) throw new Error("unforeseen");
    return null;
  };
  const uploads = new Uploads(upload, () => 0);
  const running = uploads.next();
  const shared = [uploads.next(), uploads.next()];
  first.resolve(null);
  expect(await running).toBeNull();
  expect((await Promise.all(shared)).map(String)).toEqual(["Error: unforeseen", "Error: unforeseen"]);
  expect([await uploads.next(), uploads.runningMs(1)]).toEqual([null, 0]);
});
