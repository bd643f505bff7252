/** The tests of idempotency keys, run through a gateway. */
import { throughGateway } from "../../support/gateway/stage.ts";
import { TestServer } from "../../support/server.ts";

TestServer.way = throughGateway;
await import("../idempotency.test.ts");
