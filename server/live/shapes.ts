/** The messages of the stream. */
import { integer, list, object, oneOf } from "../../engine/shapes/shape.ts";
import { EVENT_CHANGE, MAP_MEMBERS } from "../wire/shapes.ts";

export const STREAM_PATH = "/api/private/v2.0/events/{id}/stream";

export const SNAPSHOT = object({ type: oneOf(["snapshot"]), ...MAP_MEMBERS });

export const CHANGES = object({ type: oneOf(["changes"]), changes: list(EVENT_CHANGE) });

export const HEARTBEAT = object({ type: oneOf(["heartbeat"]), sequence: integer({ minimum: 0 }) });
