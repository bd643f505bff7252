/** The stream of an event as a part of the AsyncAPI document. */
import { CHANGES, HEARTBEAT, SNAPSHOT, STREAM_PATH } from "../live/shapes.ts";
import type { Schemas } from "./schemas.ts";

const CHANNEL = "eventStream";
const PROTOCOLS = ["frontrow.stream.v1+json", "frontrow.stream.v1+msgpack"];

/** Channel, operation and messages, to be joined with those of the other WebSockets. */
export function streamChannel(schemas: Schemas) {
  const messages = {
    snapshot: {
      summary: "The whole map of the event: the first message, unless changes continue one.",
      contentType: "application/json",
      payload: schemas.refer(SNAPSHOT, "StreamSnapshot"),
    },
    changes: {
      summary: "What has changed, oldest first.",
      contentType: "application/json",
      payload: schemas.refer(CHANGES, "StreamChanges"),
    },
    heartbeat: {
      summary: "After 15 seconds without a change.",
      contentType: "application/json",
      payload: schemas.refer(HEARTBEAT, "StreamHeartbeat"),
      examples: [{ payload: { type: "heartbeat", sequence: 4_713 } }],
    },
  };
  const names = Object.keys(messages);
  const channel = { $ref: `#/channels/${CHANNEL}` };
  const inChannel = names.map((name) => ({ $ref: `#/channels/${CHANNEL}/messages/${name}` }));
  return {
    messages,
    channels: {
      [CHANNEL]: {
        address: STREAM_PATH,
        description: "The changes of one event. The guide at /docs/live describes its close codes.",
        parameters: { id: { description: "The id of the event." } },
        messages: Object.fromEntries(
          names.map((name) => [name, { $ref: `#/components/messages/${name}` }]),
        ),
        bindings: { ws: { method: "GET", ...handshake(), bindingVersion: "0.1.0" } },
      },
    },
    operations: { sendChanges: { action: "send", channel, messages: inChannel } },
  };
}

function handshake(): object {
  const key = { type: "string", description: "The secret key of the organization." };
  const protocol = { type: "string", enum: PROTOCOLS };
  const properties = { "X-API-Key": key, "Sec-WebSocket-Protocol": protocol };
  const since = { type: "integer", description: "Send the changes after this sequence number." };
  const ticket = { type: "string", description: "A ticket for the event, in place of the key." };
  return {
    headers: { type: "object", properties },
    query: { type: "object", properties: { since, ticket } },
  };
}
