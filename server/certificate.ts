/** Checks the files for TLS: the library says only that something is wrong. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { UsageError } from "./usage-error.ts";

/** @throws UsageError when they cannot be read, are not PEM, or do not belong together. */
export function checkCertificate(certificate: string, key: string): void {
  const cert = parsed("--tls-cert", certificate, "a certificate", (text) => {
    createSecureContext({ cert: text });
    return new X509Certificate(text);
  });
  const parse = (text: string): KeyObject => createPrivateKey(text);
  const privateKey = parsed("--tls-key", key, "a private key without a passphrase", parse);
  if (cert.checkPrivateKey(privateKey)) return;
  throw new UsageError(`--tls-key: ${key} is not the key of the certificate ${certificate}`);
}

function parsed<Value>(
  option: string,
  file: string,
  what: string,
  parse: (text: string) => Value,
): Value {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${option}: ${(error as Error).message}`);
  }
  try {
    return parse(text);
  } catch (error) {
    throw new UsageError(`${option}: ${file} is not ${what} in PEM: ${(error as Error).message}`);
  }
}
