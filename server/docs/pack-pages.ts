/**
 * Writes every page below `/docs` into `dist/pages`. The build runs it: a server renders nothing, and
 * needs neither the renderer nor the colours of code.
 */
import { writePackageFile } from "./package-files.ts";
import { MISSING_PATH, PAGE_PATHS, pageFile } from "./pages.ts";
import { pageAt } from "./render.ts";

for (const path of [...PAGE_PATHS, MISSING_PATH]) writePackageFile(pageFile(path), pageAt(path));
