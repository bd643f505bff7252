/**
 * Writes the script of the API reference to standard output, compressed. The build runs it, so that
 * the package ships this one file and none of its source packages.
 */
import { gzipSync } from "node:zlib";
import { readBeside } from "./package-files.ts";

const script = readBeside("@scalar/fastify-api-reference", "js/standalone.js");
process.stdout.write(gzipSync(script, { level: 9 }));
