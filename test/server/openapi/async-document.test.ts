/** The AsyncAPI document: its references lead somewhere, and its schemas fit real messages. */
import { Ajv } from "ajv";
import { expect, test } from "vitest";
import { TestServer } from "../../support/server.ts";
import { CommandStage } from "../commands/stage.ts";

interface Document {
  readonly asyncapi: string;
  readonly channels: Readonly<Record<string, { readonly address: string }>>;
  readonly components: {
    readonly messages: Readonly<Record<string, { readonly payload: object }>>;
    readonly schemas: Readonly<Record<string, object>>;
  };
}

const server = new TestServer();
const { body: document } = await server.call<Document>("GET", "/asyncapi.json");

/** @returns Why the message does not match its schema; null when it does. */
function mismatch(name: string, message: unknown): string | null {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  const { messages } = document.components;
  const validate = ajv.compile({ ...messages[name]!.payload, components: document.components });
  return validate(message) ? null : ajv.errorsText(validate.errors);
}

test("every reference has a target", () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]*)"/g)];
  expect(references.length).toBeGreaterThan(10);
  for (const [, path = ""] of references) {
    const target = path
      .split("/")
      .reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], document);
    expect([path, typeof target]).toEqual([path, "object"]);
  }
});

test("the messages of a connection match the document", async () => {
  const stage = await CommandStage.start();
  const client = await stage.open();
  expect(document.asyncapi).toBe("3.0.0");
  expect(Object.values(document.channels)[0]!.address).toBe("/api/private/v2.0/booking/socket");
  const commands = [
    stage.command(1, "lock", "ann", "A1", "Pit:2"),
    { ...stage.command(2, "lock", "bob", "A1"), idempotencyKey: "k", holdType: null },
  ];
  expect(mismatch("commands", commands)).toBeNull();
  expect(mismatch("commands", [{ ...commands[0], call: "steal" }])).toContain("allowed values");
  expect(mismatch("credit", JSON.parse(client.credit!))).toBeNull();
  expect(mismatch("answers", await client.ask(...commands))).toBeNull();
});
