/** All operations, in an order in which each finds what it needs. */
import { EVENT_OPERATIONS } from "./event-operations.ts";
import {
  LAST_LAYOUT_OPERATIONS,
  LAYOUT_OPERATIONS,
  ZONED_OPERATIONS,
} from "./layout-operations.ts";
import type { Operation } from "./operation.ts";
import { LAST_OTHER_OPERATIONS, OTHER_OPERATIONS } from "./other-operations.ts";

export function allOperations(): readonly Operation[] {
  return [
    ...OTHER_OPERATIONS,
    ...LAYOUT_OPERATIONS,
    ...EVENT_OPERATIONS,
    ...ZONED_OPERATIONS,
    ...LAST_LAYOUT_OPERATIONS,
    ...LAST_OTHER_OPERATIONS,
  ];
}
