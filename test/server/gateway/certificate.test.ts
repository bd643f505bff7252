/** Unusable files for TLS. */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { checkCertificate } from "../../../server/gateway/run.ts";
import { UsageError } from "../../../server/program.ts";
import { temporaryFolder } from "../../support/server-process.ts";

function make(folder: string, name: string): { readonly cert: string; readonly key: string } {
  const [cert, key] = [path.join(folder, `${name}.pem`), path.join(folder, `${name}.key`)];
  const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert];
  execFileSync("openssl", [...made, "-subj", "/CN=localhost"], { stdio: "ignore" });
  return { cert, key };
}

test("a certificate or key that cannot be used is named with its option and the reason", () => {
  const folder = temporaryFolder();
  const [own, other] = [make(folder, "own"), make(folder, "other")];
  const [gone, text] = [path.join(folder, "gone"), path.join(folder, "text")];
  fs.writeFileSync(text, "not PEM");
  const refused: readonly (readonly [string, string, string])[] = [
    [gone, own.key, `--tls-cert: ENOENT: no such file or directory, open '${gone}'`],
    [own.cert, gone, `--tls-key: ENOENT: no such file or directory, open '${gone}'`],
    [text, own.key, `--tls-cert: ${text} is not a certificate in PEM: `],
    [own.key, own.key, `--tls-cert: ${own.key} is not a certificate in PEM: `],
    [own.cert, text, `--tls-key: ${text} is not a private key without a passphrase in PEM: `],
    [own.cert, other.key, `--tls-key: ${other.key} is not the key of the certificate ${own.cert}`],
  ];
  for (const [cert, key, message] of refused) {
    expect(() => checkCertificate(cert, key)).toThrow(UsageError);
    expect(() => checkCertificate(cert, key)).toThrow(message);
  }
  expect(() => checkCertificate(own.cert, own.key)).not.toThrow();
});
