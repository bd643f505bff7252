/** The entry of the library: what `import { open } from "@frontrow/engine"` gives. */
import { Frontrow } from "./frontrow.ts";
import type { FrontrowOptions } from "./options.ts";

export type {
  AccountRow,
  CloneRow,
  EventRow,
  EventStatus,
  HoldTypeRow,
  OrganizationRow,
  PriceRow,
  RetiredKey,
  SchemaRow,
  SeriesRow,
  TenantRow,
  VenueRow,
  ZoneRow,
} from "../../engine/catalog.ts";
export type { ZoneAssignmentRow } from "../../engine/layout/zone-table.ts";
export type { LayoutDocument, Row, Sector, Shape } from "../../engine/layout/layout-document.ts";
export type {
  Moment,
  TrailExtent,
  Transition,
  TransitionQuery,
  TransitionSort,
} from "../../engine/queries/audit-trail.ts";
export type { AreaFacts, SeatFacts } from "../../engine/queries/place-facts.ts";
export type { FieldError } from "../../engine/results.ts";
export type {
  Administrator,
  AssignmentItem,
  AssignmentSelection,
  EventBody,
  EventChange,
  HoldTypesBody,
  LayoutBody,
  ObjectSelection,
  OrganizationBody,
  OrganizationChange,
  PriceBody,
  PriceChange,
  RotationBody,
  SchemaBody,
  SeatChoice,
  SentRow,
  SentSeat,
  SentSector,
  SettingsBody,
  StateSelection,
  VenueBody,
  ZoneBody,
  ZoneChange,
} from "../../engine/shapes/bodies.ts";
export {
  EtcdRefused,
  LeadershipLost,
  NotOfThisCell,
  OtherSecret,
  TooFarBehind,
} from "../cluster/faults.ts";
export type { MemberStatus } from "../cluster/etcd.ts";
export type {
  ClusterOptions,
  ClusterStatus,
  ClusterView,
  HostRole,
  HostStatus,
} from "../cluster/options.ts";
export type { AuditReport } from "../audit/keeper.ts";
export {
  DiskFault,
  FolderRefused,
  LogCorrupt,
  LogFailed,
  SnapshotsDamaged,
  StoreFault,
} from "../disk/faults.ts";
export type { SnapshotReport } from "../snapshot/options.ts";
export { NotLeading, type OpenOptions, StoreClosed } from "../store/open-engine.ts";
export type { RecoveryProgress } from "../store/open-state.ts";
export type { AuditOptions } from "../store/open-store.ts";
export { type Refusal, type RefusalCode, Refused, type Result, valueOf } from "../store/results.ts";
export type { AnyCommand, NotOwn } from "./acting.ts";
export type { AreaChange, Change, SeatChange, StateName } from "./changes.ts";
export type { Changed, Frontrow } from "./frontrow.ts";
export type {
  Areas,
  AuditEntry,
  AuditFilter,
  AuditPage,
  NotInTrail,
  PastSeats,
  Seat,
  SeatFilter,
  Seats,
  SeatSort,
} from "./inventory.ts";
export type { FrontrowOptions, HostInCluster, NewTenant } from "./options.ts";

/**
 * Opens the store in a folder, or makes one there.
 *
 * @throws StoreFault, among them FolderRefused when the folder is open already, here or in another
 * process, and LogCorrupt when data is damaged. On a host of a cluster also TooFarBehind and
 * NotOfThisCell, when the folder cannot follow the leader. Its message names the cause and the way
 * out.
 * Refused with VALIDATION_FAILED when `folder` is missing.
 */
export function open(options: FrontrowOptions): Promise<Frontrow> {
  return Frontrow.open(options);
}
