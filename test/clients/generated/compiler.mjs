/** A TypeScript compiler that can be called as a library, in the place of `typescript`. */
import common from "@ts-morph/common";

// oxlint-disable-next-line import/no-default-export -- it stands for a module that has one.
export default common.ts;
