/** The hostile tenant beside an on-sale: its clients have a process of their own. */
import type { ChildProcess } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import {
  collect,
  type Exit,
  exitOf,
  ROOT,
  type ServerProcess,
  sleep,
  spawnNode,
} from "../../../support/server-process.ts";
import type { Outcome } from "../../campaign.ts";
import type { Disturber } from "../neighbour.ts";
import type { Scope } from "../scope.ts";
import { createOrganization } from "../serving.ts";
import { buildProperty } from "./property.ts";
import { type HostileForm, type HostilePlan, STARTED } from "./tenant.ts";

const PROGRAM = path.join(ROOT, "dist/test/faults/hostile.js");
const POLL_MS = 5;

interface Program {
  readonly child: ChildProcess;
  readonly output: { readonly stdout: string; readonly stderr: string };
  readonly exited: Promise<Exit>;
}

export class HostileClients implements Disturber {
  readonly #scope: Scope;
  /** File of the `HostilePlan`. */
  readonly #plan: string;
  #program: Program | null = null;
  #outcome: Outcome = { figures: {}, violations: [] };

  private constructor(scope: Scope, plan: string) {
    this.#scope = scope;
    this.#plan = plan;
  }

  static async create(
    scope: Scope,
    server: ServerProcess,
    form: HostileForm,
  ): Promise<HostileClients> {
    const { secretKey: key } = await createOrganization(server, {}, "Hostile");
    const property = await buildProperty(server, key, form);
    const plan: HostilePlan = { url: server.url, key, form, property };
    const file = path.join(scope.folder(), "plan.json");
    writeFileSync(file, JSON.stringify(plan));
    return new HostileClients(scope, file);
  }

  get figures(): Outcome["figures"] {
    return { "its clients": "in a process of lower priority", ...this.#outcome.figures };
  }

  get violations(): readonly string[] {
    return this.#outcome.violations;
  }

  /** Waits until they have begun. */
  async start(): Promise<void> {
    const child = spawnNode(PROGRAM, { args: [this.#plan] });
    this.#scope.defer(() => void child.kill("SIGKILL"));
    const program = { child, output: collect(child), exited: exitOf(child) };
    this.#program = program;
    while (!program.output.stdout.startsWith(STARTED)) {
      const exit = await Promise.race([program.exited, sleep(POLL_MS)]);
      if (exit !== undefined) throw failed(exit, program);
    }
  }

  async stop(): Promise<void> {
    const program = this.#program!;
    program.child.kill("SIGTERM");
    const exit = await program.exited;
    if (exit.code !== 0) throw failed(exit, program);
    this.#outcome = JSON.parse(program.output.stdout.slice(STARTED.length)) as Outcome;
  }
}

function failed({ code, signal }: Exit, { output }: Program): Error {
  return new Error(`the hostile clients end with ${code ?? signal}: ${output.stderr}`);
}
