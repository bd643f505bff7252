/** Commands and queries for one caller. Arguments and results are copies. */
import type { Catalog } from "../../engine/catalog.ts";
import type { CommandKind, CommandOf, COMMANDS, MembersOf } from "../../engine/commands.ts";
import type { AnswerOf } from "../../engine/decide.ts";
import { ownRow } from "../../engine/queries/access.ts";
import { isRefused, type Refusal as EngineRefusal } from "../../engine/results.ts";
import type { Caller } from "../../engine/shapes/caller.ts";
import type { State } from "../../engine/state.ts";
import { type Store, systemCaller } from "../store/open-engine.ts";
import { type CodeNames, type Refusal, type Result, resultOf } from "../store/results.ts";
import { type Arguments, refuseArguments } from "./arguments.ts";

/** Why a query about something with an id is refused. */
export type NotOwn = "VALIDATION_FAILED" | "ENTITY_NOT_FOUND" | "ACCESS_DENIED";

/** What the shape of a command, its caller and the state of the log can refuse in every command. */
export type AnyCommand =
  | "VALIDATION_FAILED"
  | "ACCESS_DENIED"
  | "LOG_UNAVAILABLE"
  | "OVERLOADED"
  | "PAYLOAD_TOO_LARGE";

interface Owned {
  readonly organizationId: number;
}

export class Acting {
  readonly store: Store;
  readonly caller: Caller;

  constructor(store: Store, caller: Caller) {
    this.store = store;
    this.caller = caller;
  }

  /** Acts for the tenant as a whole. */
  get forTenant(): Acting {
    return new Acting(this.store, systemCaller(this.caller.tenantId));
  }

  async run<K extends CommandKind>(
    kind: K,
    members: MembersOf<K>,
  ): Promise<
    Result<AnswerOf<K>, AnyCommand | CodeNames[(typeof COMMANDS)[K]["refusals"][number]]>
  > {
    // The state shares no object with the program, which could change it without a record. A value
    // that JSON cannot represent throws here: the log could not keep it either.
    const command: unknown = { kind, caller: this.caller, ...copyOf(members) };
    const outcome = await this.store.execute(command as CommandOf<K>);
    return copyOf(resultOf(outcome)) as Result<AnswerOf<K>, never>;
  }

  /** @param ask - Answers from the rows of the state. */
  async read<Value>(
    given: Arguments,
    ask: (state: State, caller: Caller) => Value | EngineRefusal,
  ): Promise<Result<Value, NotOwn>> {
    return this.store.read((state) => {
      const refusal = refuseArguments(given);
      if (refusal !== null) return refusal;
      const found = ask(state, this.caller);
      if (isRefusal(found)) return resultOf(found) as Refusal<NotOwn>;
      return { ok: true, value: copyOf(found) };
    });
  }

  /** @param what - The noun for such a row, for the detail of a refusal. */
  own<Row extends Owned>(
    what: string,
    given: Arguments,
    find: (catalog: Catalog) => Row | undefined,
  ): Promise<Result<Row, NotOwn>> {
    return this.read(given, ({ catalog }, caller) => ownRow(find(catalog), caller, what));
  }

  /** The rows of a table that the condition holds for. */
  async list<Row>(
    table: (catalog: Catalog) => ReadonlyMap<unknown, Row>,
    isListed: (row: Row) => boolean,
  ): Promise<Result<readonly Row[], never>> {
    const rows = await this.store.read(({ catalog }) =>
      copyOf([...table(catalog).values()].filter(isListed)),
    );
    return { ok: true, value: rows };
  }

  /** The rows of a table that belong to the organization. */
  listOwn<Row extends Owned>(table: (catalog: Catalog) => ReadonlyMap<unknown, Row>) {
    const { organizationId } = this.caller;
    return this.list(table, (row) => row.organizationId === organizationId);
  }

  /** The rows of a table that belong to a schema of the organization. */
  listOfSchema<Row extends { readonly schemaId: number }>(
    schemaId: number,
    table: (catalog: Catalog) => ReadonlyMap<unknown, Row>,
  ): Promise<Result<readonly Row[], NotOwn>> {
    return this.read({ schemaId }, ({ catalog }, caller) => {
      const schema = ownRow(catalog.schemas.get(schemaId), caller, "schema");
      if (isRefused(schema)) return schema;
      return [...table(catalog).values()].filter((row) => row.schemaId === schemaId);
    });
  }
}

/** Adds members to each item of a list. Anything but a list is refused by the command. */
export function each<Item, Extra>(items: readonly Item[], extra: Extra): readonly (Item & Extra)[] {
  return Array.isArray(items)
    ? items.map((item: Item) => ({ ...item, ...extra }))
    : (items as never);
}

export function copyOf<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

function isRefusal(found: unknown): found is EngineRefusal {
  return typeof found === "object" && found !== null && isRefused(found);
}
