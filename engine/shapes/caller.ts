/** Who gives a command: part of every command, from the library as from the front. */
import { ActorKind } from "../records.ts";
import { exactObject, integer, type Shape, type TypeOf } from "./shape.ts";

const ID = integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const ACTOR_KIND: Shape<ActorKind> = { type: "integer", enum: Object.values(ActorKind) };

export const CALLER = exactObject({
  actor: exactObject({ kind: ACTOR_KIND, id: ID }),
  tenantId: ID,
  /** 0 when the caller acts for its tenant and names no organization. */
  organizationId: ID,
});
export type Caller = TypeOf<typeof CALLER>;

/** What a decision takes: the caller and the members of its command. */
export type CommandWith<Members> = Readonly<Members> & { readonly caller: Caller };
