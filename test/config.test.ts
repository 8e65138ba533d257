/** Wrong settings: each is told with its name and an example, all at once, and nothing starts. */
import { describe, expect, test } from "bun:test";
import { readConfig, SETTINGS } from "../src/config.ts";
import { runService } from "./kit/service.ts";

const SECRET = "c2VjcmV0LXRoYXQtaXMtdG9vLXNob3J0";

const WRONG: readonly (readonly [name: string, text: string])[] = [
  ["SEALPOST_PORT", "http"],
  ["SEALPOST_PORT", "-1"],
  ["SEALPOST_PORT", "65536"],
  ["SEALPOST_PORT", "80.5"],
  ["SEALPOST_PORT", "0x50"],
  ["SEALPOST_HOST", "a b"],
  ["SEALPOST_HOST", "http://0.0.0.0"],
  ["SEALPOST_BASE_URL", "hooks.example.com"],
  ["SEALPOST_BASE_URL", "ftp://hooks.example.com"],
  ["SEALPOST_BASE_URL", "https://hooks.example.com/?a=b"],
  ["SEALPOST_BASE_URL", "https://hooks.example.com/#a"],
  ["SEALPOST_BASE_URL", "https://me@hooks.example.com"],
  ["SEALPOST_SECRET_KEY", SECRET],
  ["SEALPOST_SECRET_KEY", `${Buffer.alloc(32).toString("base64")},${SECRET}`],
  ["SEALPOST_SECRET_KEY", Buffer.alloc(32).toString("hex")],
  ["SEALPOST_OPERATOR_TOKEN", "short"],
  ["SEALPOST_OPERATOR_TOKEN", "sixteen letters with spaces"],
  ["SEALPOST_METRICS_TOKEN", "short"],
  ["SEALPOST_ALLOW_PRIVATE_DESTINATIONS", "localhost"],
  ["SEALPOST_ALLOW_PRIVATE_DESTINATIONS", "127.0.0.1"],
  ["SEALPOST_ALLOW_PRIVATE_DESTINATIONS", "127.0.0.0/33"],
  ["SEALPOST_ALLOW_PRIVATE_DESTINATIONS", "10.0.0.256/8"],
  ["SEALPOST_ALLOW_PRIVATE_DESTINATIONS", "010.0.0.0/8"],
  ["SEALPOST_ALLOW_PRIVATE_DESTINATIONS", "127.0.0.0/8,fe80::1%eth0/64"],
  ["SEALPOST_ALLOW_PRIVATE_DESTINATIONS", "fd00::/129"],
  ["SEALPOST_CELL", "1"],
  ["SEALPOST_CELL", "IL"],
  ["SEALPOST_CELL", "7k"],
  ["SEALPOST_PUBLISH_RATE_LIMIT", "many"],
  ["SEALPOST_MANAGEMENT_RATE_LIMIT", "-1"],
  ["SEALPOST_INGEST_RATE_LIMIT", "1e3"],
  ["SEALPOST_PLANS", "{"],
  ["SEALPOST_PLANS", "[]"],
  ["SEALPOST_PLANS", '{"a": 1}'],
  ["SEALPOST_PLANS", '{"a": []}'],
  ["SEALPOST_PLANS", '{"a": {"deliveries": -1}}'],
  ["SEALPOST_PLANS", '{"a": {"deliverys": 1}}'],
  ["SEALPOST_PLANS", '{"a": {"retention_days": 7, "body_retention_days": 8}}'],
  ["SEALPOST_DURABILITY", "s3"],
  ["SEALPOST_LOG_LEVEL", "loud"],
  ["SEALPOST_PROT", "8080"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://key@localhost:4318"],
  ["OTEL_EXPORTER_OTLP_HEADERS", SECRET.slice(0, 8)],
  ["OTEL_EXPORTER_OTLP_HEADERS", "a=1,,b=2"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "a b=1"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "a=%zz"],
  ["OTEL_EXPORTER_OTLP_HEADERS", `a=%0d${SECRET}`],
  ["OTEL_SERVICE_NAME", "two\nlines"],
  ["OTEL_TRACES_SAMPLER", "jaeger_remote"],
  ["OTEL_TRACES_SAMPLER_ARG", "1.1"],
  ["OTEL_TRACES_SAMPLER_ARG", "-0.1"],
  ["OTEL_TRACES_SAMPLER_ARG", "1e-3"],
];

describe.each(WRONG)("%s=%s", (name, text) => {
  test("is told by its name, with an example, and no secret", () => {
    const read = readConfig({ [name]: text });
    const problems = read.ok ? [] : read.problems;
    expect(problems).toHaveLength(1);
    expect(problems[0]).toStartWith(name);
    expect(problems[0]).toMatch(/for example |did you mean /);
    if (/KEY|TOKEN|HEADERS/.test(name)) expect(problems[0]).not.toContain(text);
  });
});

test("headers of a collector are read as the specification of OTLP has them", () => {
  const read = readConfig({ OTEL_EXPORTER_OTLP_HEADERS: "Api-Key=a%2Cb%3D, authorization = Bearer%20x=y" });
  const tracesHeaders = { "api-key": "a,b=", authorization: "Bearer x=y" };
  expect(read).toMatchObject({ ok: true, config: { tracesHeaders, tracesEndpoint: null } });
});

test("the examples are right", () => {
  for (const { name, example } of Object.values(SETTINGS))
    if (!example.startsWith("$(")) expect([name, readConfig({ [name]: example }).ok]).toEqual([name, true]);
});

test("all that are wrong are told at once, with exit code 2, before anything listens", async () => {
  const env = Object.fromEntries(WRONG);
  const { exitCode, output } = await runService({ env });
  expect(exitCode).toBe(2);
  for (const name of Object.keys(env)) expect(output).toContain(name);
  expect(output).not.toContain("listening");
  expect(output).not.toContain(SECRET);
});
