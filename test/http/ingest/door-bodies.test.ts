/** Whose room a body at the door takes: its source's account's, whatever it waits for; others have theirs. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { owner } from "../kit.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import type { TransportResult } from "../../../src/transport/types.ts";
import { CASES } from "../../inbound/cases.ts";
import { headersOf } from "../../inbound/kit.ts";
import { type Api, type Reply, startApi } from "../log-kit.ts";

const names = ["bodiesInFlightBytesMax", "accountBodiesBytesMax", "guestBodiesBytesMax"] as const;
const usual = names.map((name) => LIMITS[name].value);
const setLimits = (values: readonly number[]) =>
  names.forEach((name, at) => ((LIMITS[name] as { value: number }).value = values[at] ?? 0));

const LARGE = 240_000;
/** One source takes no more of the account's room than it leaves free. */
const TAKEN = 4;

let api: Api;
beforeEach(async () => {
  api = await startApi();
  setLimits([4_000_000, 2_000_000, 2_000_000]);
  const { tenants } = api.data;
  const account = await tenants.createAccount({ name: "another", plan: "unlimited" });
  const project = await tenants.createProject(account.id, "live", "live");
  api.callers.set("stranger", { ...owner, id: 9, projectId: project.id, accountId: account.id });
});
afterEach(async () => {
  setLimits(usual);
  await api[Symbol.asyncDispose]();
});

interface Made {
  ingest_path: string;
  secret: string;
}

async function makeSource(asked: Record<string, unknown> = {}, token = "full"): Promise<Made> {
  const { json } = await api.call("POST", "/v1/sources", { provider: "service", name: "s", ...asked }, token);
  return json as unknown as Made;
}

/** Opens a source: what sends it a large request, which waits until all are let go. */
interface Way {
  open: () => Promise<() => Promise<Reply>>;
  letGo: () => void;
}

const WAYS: Record<string, () => Way> = {
  "for the replica": () => ({
    open: async () => {
      const made = await makeSource({ durability: "replica" });
      return () => api.call("POST", made.ingest_path, { type: "a.b", pad: "x".repeat(LARGE) }, made.secret);
    },
    letGo: () => {
      api.replica.confirm();
      api.replica.untilWritten = () => Promise.resolve();
    },
  }),
  "for a key document": () => {
    const { promise, resolve } = Promise.withResolvers<TransportResult>();
    api.services.transport.send = () => promise;
    return {
      open: async () => {
        const made = await makeSource({
          provider: "google_pubsub",
          credentials: { audience: "a", service_account_email: "b@c" },
        });
        const claims = { aud: "a", email: "b@c", email_verified: true, exp: 1 };
        const parts = [{ alg: "RS256", kid: "a", typ: "JWT" }, claims].map((part) =>
          Buffer.from(JSON.stringify(part)).toString("base64url"),
        );
        const token = `${parts.join(".")}.c2ln`;
        return () => api.call("POST", made.ingest_path, "x".repeat(LARGE), token);
      },
      letGo: () => resolve({ kind: "timeout", code: "timeout_connect" }),
    };
  },
  "for an address that a handshake named": () => {
    const proof = CASES["aws_sns"];
    const { promise, resolve } = Promise.withResolvers<TransportResult>();
    api.services.transport.send = ({ url }) => {
      const document = proof?.keyDocuments?.[url.href];
      if (document === undefined) return promise;
      const body = new TextEncoder().encode(document);
      return Promise.resolve({ kind: "response", status: 200, headers: [], body, truncated: false });
    };
    return {
      open: async () => {
        const made = await makeSource({ provider: "aws_sns", credentials: proof?.credentials });
        const request = await proof?.handshakes?.[0]?.request("", Date.now());
        if (request === undefined) throw new Error("there is no such case");
        const body = new TextDecoder().decode(request.body).padEnd(LARGE);
        return () => api.call("POST", made.ingest_path, body, "full", headersOf(request));
      },
      letGo: () => resolve({ kind: "timeout", code: "timeout_connect" }),
    };
  },
};

test.each(Object.keys(WAYS))(
  "bodies that wait %s leave the door open to others, and room to their own account",
  async (way) => {
    const { open, letGo } = WAYS[way]?.() ?? {};
    if (!open || !letGo) throw new Error("there is no such way");
    const send = await open();
    const other = await makeSource({}, "stranger");
    const refused: Reply[] = [];
    const { promise: areRefused, resolve } = Promise.withResolvers<void>();
    const sent = Array.from({ length: 12 }, send);
    for (const reply of sent)
      void reply.then((one) => refused.push(one) === sent.length - TAKEN && resolve());
    await areRefused;
    expect(refused.map(({ status, headers }) => [status, headers.get("retry-after")])).toEqual(
      refused.map(() => [503, "1"]),
    );
    for (const length of [1, 500_000, LARGE]) {
      const body = { type: "a.b", pad: "x".repeat(length) };
      expect((await api.call("POST", other.ingest_path, body, other.secret)).status).toBe(200);
    }
    await api.publish("own", { data: { pad: "x".repeat(LARGE) } });
    expect(refused.length).toBe(sent.length - TAKEN);
    letGo();
    await Promise.all(sent);
    // All of it is given back.
    expect((await Promise.all(Array.from({ length: 4 }, () => api.publish("own")))).length).toBe(4);
  },
);
