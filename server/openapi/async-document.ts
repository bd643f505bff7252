/** The AsyncAPI 3 document: the messages of the WebSockets, derived from their shapes. */
import { BinaryProtocol } from "../commands/binary-protocol.ts";
import { LIMITS, SOCKET_PATH } from "../commands/command.ts";
import { JsonProtocol } from "../commands/json-protocol.ts";
import { ANSWERS_FRAME, COMMANDS_FRAME, CREDIT } from "../commands/shapes.ts";
import { Schemas } from "./schemas.ts";
import { streamChannel } from "./stream-channel.ts";

const CHANNEL = "bookingCommands";
const DESCRIPTION =
  "The WebSockets of the service: booking commands, and the stream of an event. The guide at " +
  "/docs/commands and /docs/live describes close codes, and the binary layout of commands.";

export function asyncApiDocument(version: string): object {
  const schemas = new Schemas();
  const names = [new JsonProtocol(), new BinaryProtocol()].map(({ name }) => name);
  const [json, binary] = names;
  const bytes = { type: "string", contentEncoding: "binary" };
  const messages = {
    credit: {
      summary: "The first message of the server: what a client may send.",
      contentType: "application/json",
      payload: schemas.refer(CREDIT, "Credit"),
      examples: [{ payload: { type: "credit", ...LIMITS } }],
    },
    commands: {
      summary: `A frame of commands (${json}).`,
      contentType: "application/json",
      payload: schemas.refer(COMMANDS_FRAME, "Command"),
    },
    answers: {
      summary: `The answers to commands, in their order (${json}).`,
      contentType: "application/json",
      payload: schemas.refer(ANSWERS_FRAME, "CommandAnswer"),
    },
    binaryCommands: {
      summary: `A frame of commands and handles in the binary layout (${binary}).`,
      contentType: "application/octet-stream",
      payload: bytes,
    },
    binaryAnswers: {
      summary: `The answers to commands in the binary layout (${binary}).`,
      contentType: "application/octet-stream",
      payload: bytes,
    },
  };
  const stream = streamChannel(schemas);
  const refer = (name: string) => ({ $ref: `#/channels/${CHANNEL}/messages/${name}` });
  const operation = (action: string, ...sent: readonly (keyof typeof messages)[]) => ({
    action,
    channel: { $ref: `#/channels/${CHANNEL}` },
    messages: sent.map(refer),
  });
  return {
    asyncapi: "3.0.0",
    info: { title: "Frontrow", version, description: DESCRIPTION },
    channels: {
      [CHANNEL]: {
        address: SOCKET_PATH,
        description: "The command socket of an organization.",
        messages: Object.fromEntries(
          Object.keys(messages).map((name) => [name, { $ref: `#/components/messages/${name}` }]),
        ),
        bindings: { ws: { method: "GET", headers: handshake(names), bindingVersion: "0.1.0" } },
      },
      ...stream.channels,
    },
    operations: {
      takeCommands: operation("receive", "commands", "binaryCommands"),
      sendAnswers: operation("send", "credit", "answers", "binaryAnswers"),
      ...stream.operations,
    },
    components: { messages: { ...messages, ...stream.messages }, schemas: schemas.all },
  };
}

function handshake(names: readonly string[]): object {
  const key = { type: "string", description: "The secret key of the organization." };
  const protocol = { type: "string", enum: names };
  const properties = { "X-API-Key": key, "Sec-WebSocket-Protocol": protocol };
  return { type: "object", properties, required: ["X-API-Key"] };
}
