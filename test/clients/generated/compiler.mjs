/** A TypeScript compiler that can be used as a library; it replaces `typescript`. */
import common from "@ts-morph/common";

// oxlint-disable-next-line import/no-default-export -- it replaces a module with a default export.
export default common.ts;
