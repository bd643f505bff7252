/** Preloaded into a child process: it ends with the parent, however that ends. */
process.once("disconnect", () => process.exit());
