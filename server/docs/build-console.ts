/** Builds the console into hashed files: a step of `npm run build`. Its packages are bundled. */
import { build } from "vite";

await build({
  root: "server/console",
  configFile: false,
  logLevel: "warn",
  base: "/console/",
  build: {
    outDir: "../../dist/server/console",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
