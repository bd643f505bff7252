/** A change that the log cannot keep is refused before it is written, and the store goes on. */
import { expect, test } from "vitest";
import type { Outcome } from "../../../engine/engine.ts";
import { Result } from "../../../engine/results.ts";
import { digest } from "../../../engine/verify.ts";
import { Store } from "../../../persistence/store/open-engine.ts";
import { openStore } from "../../../persistence/store/open-store.ts";
import { realPlatform } from "../../../persistence/store/platform.ts";
import { folderOf } from "./store-fixture.ts";

const RECORD_BYTES_MAX = 16 * 1024;
const CLONE = "00000000-0000-4000-8000-0000000000c1";

async function open(folder: string, recordBytesMax?: number): Promise<Store> {
  const onFailure = (fault: Error) => {
    throw fault;
  };
  return new Store(await openStore(realPlatform, { folder, recordBytesMax, onFailure }), folder);
}

test("a layout, a schema and a clone that are too long are refused; others are taken", async () => {
  const folder = folderOf();
  const before = await open(folder);
  const caller = await before.callerFor("Box office");
  await before.execute({ kind: "createVenue", caller, body: { name: "Odeon" } });
  const [venueId = 0] = before.engine.state.catalog.venues.keys();
  const plan = (thumbnail: string) => ({ name: "Plan", venueId, thumbnail });
  await before.execute({ kind: "createSchema", caller, body: plan("x".repeat(20_000)) });
  await before.close();

  const store = await open(folder, RECORD_BYTES_MAX);
  const { state } = store.engine;
  const [schemaId = 0] = state.catalog.schemas.keys();
  const unchanged = { digest: digest(state), sequence: store.engine.sequence };
  const points = "x".repeat(RECORD_BYTES_MAX);
  const outcomes: readonly Outcome<unknown>[] = [
    await store.execute({ kind: "createSchema", caller, body: plan(points) }),
    await store.execute({
      kind: "putLayout",
      caller,
      schemaId,
      body: { shapes: [{ points }] },
      forceDelete: false,
    }),
    await store.execute({ kind: "cloneSchema", caller, schemaId, cloneId: CLONE }),
  ];
  const detail = expect.stringMatching(/takes \d{5} bytes .* at most 16384 /) as string;
  const refusal = { refused: Result.PAYLOAD_TOO_LARGE, detail, errors: [] };
  expect(outcomes).toEqual([refusal, refusal, refusal]);
  expect({ digest: digest(state), sequence: store.engine.sequence }).toEqual(unchanged);
  const venue = await store.execute({ kind: "createVenue", caller, body: { name: "Arena" } });
  expect(venue.refused).toBe(Result.OK);
  const after = digest(state);
  await store.close();
  const again = await open(folder);
  expect(await again.read(digest)).toBe(after);
  await again.close();
});
