/** The tests of booking, run through a gateway: the promises are the same. */
import { throughGateway } from "../../support/gateway/stage.ts";
import { TestServer } from "../../support/server.ts";

TestServer.way = throughGateway;
await import("../routes/booking.test.ts");
await import("../routes/v1-booking.test.ts");
