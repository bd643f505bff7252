/** Writes the types of an OpenAPI document. Use: `node --import … generate.mjs <document> <types>`. */
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const [documentFile, typesFile] = process.argv.slice(2);
const document = JSON.parse(await readFile(documentFile, "utf8"));
await writeFile(typesFile, astToString(await openapiTS(document)));
