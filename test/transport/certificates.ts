/** Certificates made on the spot by Debian's `openssl`, in a temporary folder that goes with the test. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

export interface Authority {
  /** PEM of the authority's own certificate. */
  readonly pem: string;
  /** Signs a certificate for names such as `DNS:a.test` or `IP:127.0.0.1`; negative days: expired. */
  sign(names: string, days?: number): Certificate;
  remove(): void;
}

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

export function createAuthority(): Authority {
  const folder = mkdtempSync(join(tmpdir(), "sealpost-tls-"));
  const file = (name: string) => join(folder, name);
  const read = (name: string) => readFileSync(file(name), "utf8");
  const subject = ["-subj", "/CN=Sealpost test authority"];
  openssl(
    "req",
    "-x509",
    ...NEW_KEY,
    "-keyout",
    file("ca.key"),
    "-out",
    file("ca.pem"),
    "-days",
    "2",
    ...subject,
  );
  let count = 0;

  function sign(names: string, days = 2): Certificate {
    const id = `leaf${++count}`;
    writeFileSync(file(`${id}.ext`), `subjectAltName=${names}\n`);
    openssl("req", ...NEW_KEY, "-keyout", file(`${id}.key`), "-out", file(`${id}.csr`), "-subj", `/CN=${id}`);
    const authority = ["-CA", file("ca.pem"), "-CAkey", file("ca.key"), "-CAcreateserial"];
    const output = ["-out", file(`${id}.pem`), "-days", String(days), "-extfile", file(`${id}.ext`)];
    openssl("x509", "-req", "-in", file(`${id}.csr`), ...authority, ...output);
    return { key: read(`${id}.key`), cert: read(`${id}.pem`) };
  }

  return { pem: read("ca.pem"), sign, remove: () => rmSync(folder, { recursive: true }) };
}

function openssl(...args: string[]): void {
  if (Bun.which("openssl") === null) throw new Error("these tests need openssl: apt-get install openssl");
  const { exitCode, stderr } = Bun.spawnSync(["openssl", ...args], { stdout: "ignore", stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`openssl ${args[0]} failed: ${stderr.toString()}`);
}
