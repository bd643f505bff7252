/** The history and the audit trail, fed with the same records, give the same answers. */
import { afterAll, expect, test } from "vitest";
import type { AuditQuestion, TransitionQuery } from "../../../engine/queries/history.ts";
import { TRANSITION_SORTS } from "../../../engine/queries/history.ts";
import { OpenHistory } from "../../../persistence/history/keeper.ts";
import { ByteWriter } from "../../../persistence/log/bytes.ts";
import { encodeRecord } from "../../../persistence/log/codec.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import type { KeptRecord } from "../../support/engine.ts";
import { Workload } from "../../sim/workload/workload.ts";
import { AUDIT_STORE, eventIdsIn, feed, markAt, openBook } from "../audit/audit-fixture.ts";
import { folderOf } from "../store/store-fixture.ts";

function payloadOf({ timeMs, record }: KeptRecord): Buffer {
  const out = new ByteWriter(1024);
  encodeRecord(out, timeMs, record);
  return Buffer.from(out.bytes.subarray(0, out.length));
}

const drain = <V>(steps: Generator<void, V>): V => {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
};

test.each([1, 2, 3, 4, 5, 6])("random work %s → both say the same of every event", (seed) => {
  const workload = new Workload(seed);
  for (let step = 0; step < 1_500; step++) workload.step();
  const { kept } = workload.bench.journal;
  const book = openBook(":memory:");
  feed(book, kept);
  const history = new OpenHistory({
    disk: realDisk,
    folder: folderOf(),
    storeId: AUDIT_STORE,
    imageMovesMin: 50,
  });
  for (const one of kept) {
    history.add(payloadOf(one), one.sequence, 1);
    if (one.sequence % 97 === 0) history.flush(markAt(one.sequence));
  }
  const last = kept.at(-1)!.sequence;
  let differing = 0;
  const compare = (question: AuditQuestion) => {
    const wanted = book.answer(question);
    const found = drain(history.answers.answer(question, (id) => history.archive.reply(id)));
    expect({ question, found }).toEqual({ question, found: wanted });
    differing += 1;
  };
  for (const eventId of eventIdsIn(kept)) {
    compare({ about: "owner", eventId });
    const all: TransitionQuery = { sort: [], offset: 0, limit: 10_000 };
    compare({ about: "transitions", eventId, query: all });
    for (const property of TRANSITION_SORTS) {
      const sort = [{ property, descending: true }];
      compare({ about: "transitions", eventId, query: { ...all, sort, offset: 3, limit: 50 } });
    }
    for (let since = 0; since < last; since += 101) {
      compare({ about: "changes", eventId, since, limit: 60 });
      compare({ about: "columns", eventId, since });
      const moment = { sequence: since };
      compare({ about: "areas", eventId, moment });
      const query = { sort: [], offset: 0, limit: 500 };
      compare({ about: "seats", eventId, moment, query });
    }
  }
  book.close();
  history.close();
});
