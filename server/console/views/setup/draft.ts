/** What has been chosen for a new event. */
import type { Signal } from "@preact/signals";
import type { Named } from "../../api/catalog.ts";
import type { LayoutFile } from "./layout-file.ts";

/** What has been chosen or created: what a second attempt does not create again. */
export interface Draft {
  readonly venues: Signal<readonly Named[]>;
  readonly plans: Signal<readonly Named[]>;
  /** 0 for a new one. */
  readonly venueId: Signal<number>;
  readonly planId: Signal<number>;
  readonly layout: Signal<LayoutFile | null>;
  readonly error: Signal<string>;
}
