/**
 * Signature Version 4 against the suite that AWS publishes, and against the examples of S3's documentation.
 */
import { describe, expect, spyOn, test } from "bun:test";
import { createHash } from "node:crypto";
import { signAws } from "../../../src/destinations/aws/sign.ts";
import suite from "./sigv4.json";

interface Vector {
  name: string;
  request: string;
  region: string;
  service: string;
  timestamp: string;
  normalize: boolean;
  sign_body: boolean;
  token?: string;
  omit_session_token?: boolean;
  authorization: string;
}

/**
 * What no `URL` can say, as it normalises paths and encodes them; and paths that the suite encodes once,
 * where the services themselves (all but S3) want an encoded path encoded again.
 */
const NO_URL = /-unnormalized$|^get-utf8$|^get-space-normalized$/;
const encoder = new TextEncoder();

function read({ request }: Vector) {
  const [head = "", body = ""] = request.split(/\n\n(.*)/s);
  const [line = "", ...lines] = head.replaceAll(/\n(?=[ \t])/g, "\r").split("\n");
  const [method = "", target = ""] = line.split(/ (.*) /s);
  const headers = new Map<string, string>();
  for (const text of lines.filter(Boolean)) {
    const [name = "", value = ""] = text.split(/:(.*)/s);
    const before = headers.get(name.toLowerCase());
    headers.set(name.toLowerCase(), before === undefined ? value : `${before},${value}`);
  }
  const url = new URL(`https://${headers.get("host")}${target}`);
  headers.delete("host");
  return { method, url, headers: [...headers], body: encoder.encode(body) };
}

describe("the published suite", () => {
  test.each(
    (suite.cases as Vector[])
      .filter(({ name }) => !NO_URL.test(name))
      .map((each) => [each.name, each] as const),
  )("%s", async (_name, vector) => {
    const request = read(vector);
    const hash = createHash("sha256").update(request.body).digest("hex");
    const headers: [string, string][] = vector.sign_body
      ? [...request.headers, ["x-amz-content-sha256", hash]]
      : request.headers;
    const signed = await signAws(
      { ...request, headers },
      {
        service: vector.service,
        region: vector.region,
        credentials: {
          accessKeyId: suite.access_key_id,
          secretAccessKey: suite.secret_access_key,
          ...(vector.token !== undefined && !vector.omit_session_token && { sessionToken: vector.token }),
        },
        timestampSeconds: Date.parse(vector.timestamp) / 1000,
      },
    );
    expect(Object.fromEntries(signed.headers)["authorization"]).toBe(vector.authorization);
  });
});

/**
 * Amazon S3 API Reference, "Signature Calculations for the Authorization Header: Transferring Payload in a
 * Single Chunk".
 */
describe("the examples of S3's documentation", () => {
  const credentials = {
    accessKeyId: "AKIAIOSFODNN7EXAMPLE",
    secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  };
  const scope = {
    service: "s3",
    region: "us-east-1",
    credentials,
    timestampSeconds: Date.UTC(2013, 4, 24) / 1000,
  };
  const sign = async (method: string, target: string, headers: [string, string][], body: string) => {
    const url = new URL(target, "https://examplebucket.s3.amazonaws.com");
    const signed = await signAws({ method, url, headers, body: encoder.encode(body) }, scope);
    return Object.fromEntries(signed.headers);
  };

  test("PUT Object: the hash of the body is sent", async () => {
    // Its signature covers `date`, which the library leaves out, as AWS's own clients do.
    const signed = await sign("PUT", "/test%24file.text", [], "Welcome to Amazon S3.");
    expect(signed["x-amz-content-sha256"]).toBe(
      "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
    );
  });

  test("GET Object", async () => {
    const signed = await sign("GET", "/test.txt", [["range", "bytes=0-9"]], "");
    expect(signed["authorization"]).toEndWith(
      "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, " +
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    );
  });

  test("GET Bucket Lifecycle: a parameter without a value", async () => {
    const signed = await sign("GET", "/?lifecycle", [], "");
    expect(signed["authorization"]).toEndWith(
      "Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
    );
  });

  test("GET Bucket: parameters", async () => {
    const signed = await sign("GET", "/?max-keys=2&prefix=J", [], "");
    expect(signed["authorization"]).toEndWith(
      "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    );
  });
});

test("of a query with very many names each is read once", async () => {
  const query = Array.from({ length: 600 }, (_, at) => `${at}=1&${at}=0`).join("&");
  const url = new URL(`http://127.0.0.1:5566/?${query}`);
  const getAll = spyOn(URLSearchParams.prototype, "getAll");
  const scope = { service: "sqs", region: "eu-central-1", timestampSeconds: 1_440_938_160 };
  const credentials = { accessKeyId: "AKIAEXAMPLE", secretAccessKey: "secret" };
  await signAws({ method: "POST", url, headers: [], body: new Uint8Array() }, { ...scope, credentials });
  expect(getAll).not.toHaveBeenCalled();
  getAll.mockRestore();
});

test("of credentials for a time, the session token is signed and sent too", async () => {
  const signed = await signAws(
    { method: "POST", url: new URL("http://127.0.0.1:5566/"), headers: [], body: new Uint8Array() },
    {
      service: "sqs",
      region: "eu-central-1",
      credentials: { accessKeyId: "ASIAEXAMPLE", secretAccessKey: "secret", sessionToken: "token/+=" },
      timestampSeconds: 1_440_938_160,
    },
  );
  const headers = Object.fromEntries(signed.headers);
  expect(headers).toMatchObject({ "x-amz-date": "20150830T123600Z", "x-amz-security-token": "token/+=" });
  expect(headers["authorization"]).toContain("SignedHeaders=host;x-amz-date;x-amz-security-token");
  expect(headers).not.toContainKey("host");
});
