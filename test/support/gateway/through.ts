/** Imported before the suites that are to run through a gateway. */
import { TestServer } from "../server.ts";
import { throughGateway } from "./stage.ts";

TestServer.way = throughGateway;
