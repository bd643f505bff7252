/** The tests of idempotency keys, run through a gateway. */
import "../../support/gateway/through.ts";
import "../idempotency.test.ts";
