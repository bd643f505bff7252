/** `frontrow gateway` in its own process, the cable to its engine, and the oracles of both. */
import { fork } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { CLI, ServerProcess, sleep } from "../../support/server-process.ts";
import type { Disturbance } from "../recipe.ts";
import { Cable } from "./cable.ts";

const WITH_PARENT = fileURLToPath(new URL("./with-parent.js", import.meta.url));
/** The second loopback address; no request may make a gateway connect there. */
const FORBIDDEN_HOST = "127.0.0.2";
const FORBIDDEN_ANSWER =
  "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nforbidden";
/** Largest resident memory of a gateway, in MiB: its memory for answers, and as much again. */
export const GATEWAY_MIB_MAX = 384;
const POLL_MS = 50;
const POLL_MS_MAX = 5_000;
/** Longer than two checks of a link for silence: it may still end when the engine is back. */
const SETTLE_MS = 600;
const BACK_MS_MAX = 20_000;
/** An exit follows the last answer, and a connection elsewhere its request. */
const LATE_MS_MAX = 100;
const LOG_CHARS_SHOWN = 600;

export class FuzzedGateway {
  readonly port: number;
  readonly forbiddenPort: number;
  readonly #parts: Parts;
  readonly #faults: string[] = [];
  #isClosing = false;
  #hasEnded = false;
  #disturbing: Promise<void> = Promise.resolve();
  #isDisturbed = false;
  #peakMiB = 0;

  private constructor(parts: Parts) {
    this.#parts = parts;
    const { child, forbidden } = parts;
    this.port = Number(new URL(child.url).port);
    this.forbiddenPort = (forbidden.address() as net.AddressInfo).port;
    forbidden.on("connection", (socket) => {
      this.#faults.push("a connection to an address that a request named");
      socket
        .on("error", () => {})
        .resume()
        .end(FORBIDDEN_ANSWER);
    });
    void this.#watchExit();
  }

  async #watchExit(): Promise<void> {
    const { child } = this.#parts;
    const { code, signal } = await child.exited;
    this.#hasEnded = true;
    if (this.#isClosing) return;
    this.#faults.push(`the gateway ended with ${code ?? signal}: ${lastWords(child)}`);
  }

  static async start(enginePort: number, secret: string, folder: string): Promise<FuzzedGateway> {
    const cable = new Cable(enginePort);
    await cable.listen();
    const secretFile = path.join(folder, "gateway-secret");
    fs.writeFileSync(secretFile, secret);
    const engine = `http://127.0.0.1:${cable.port}`;
    const args = ["--engine", engine, "--gateway-secret-file", secretFile, "--port", "0"];
    const child = fork(CLI, ["gateway", ...args, "--log-level", "error"], {
      execArgv: ["--import", WITH_PARENT],
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    const process = new ServerProcess(child, "");
    await process.ready(false);
    const forbidden = net.createServer();
    await new Promise<void>((resolve, reject) => {
      forbidden.once("error", reject).listen(0, FORBIDDEN_HOST, resolve);
    });
    const gateway = new FuzzedGateway({ child: process, cable, forbidden });
    await gateway.#untilReady();
    return gateway;
  }

  /** @returns A function: true while no engine has failed since the call. */
  watchEngine(): () => boolean {
    const { cable } = this.#parts;
    const { begun } = cable;
    const wasDisturbed = this.#isDisturbed;
    return () => !wasDisturbed && !this.#isDisturbed && cable.begun === begun;
  }

  /** One after the other. Settles when the gateway is ready again. */
  disturb(disturbance: Disturbance): Promise<void> {
    this.#disturbing = this.#disturbAfter(this.#disturbing, disturbance);
    return this.#disturbing;
  }

  async #disturbAfter(before: Promise<void>, disturbance: Disturbance): Promise<void> {
    await before;
    this.#isDisturbed = true;
    await this.#parts.cable.disturb(disturbance);
    await this.#untilReady();
    await sleep(SETTLE_MS);
    await this.#untilReady();
    this.#isDisturbed = false;
  }

  async #untilReady(): Promise<void> {
    const { child } = this.#parts;
    const endMs = Date.now() + BACK_MS_MAX;
    while (!this.#hasEnded && Date.now() < endMs) {
      const signal = AbortSignal.timeout(POLL_MS_MAX);
      const answer = await fetch(`${child.url}/readyz`, { signal }).catch(() => null);
      if (answer?.ok === true) return;
      await sleep(POLL_MS);
    }
    if (!this.#hasEnded) this.#faults.push("the gateway is not ready although its engine is back");
  }

  /** Largest resident memory of the process so far; 0 where the system does not tell. */
  get peakMiB(): number {
    return this.#peakMiB;
  }

  #readMemory(): number {
    const status = `/proc/${this.#parts.child.pid}/status`;
    const text = fs.existsSync(status) ? fs.readFileSync(status, "utf8") : "";
    return Math.round(Number(/VmHWM:\s+(\d+)/.exec(text)?.[1] ?? 0) / 1_024);
  }

  takeFaults(): string[] {
    this.#peakMiB = Math.max(this.#peakMiB, this.#readMemory());
    const isLarge = this.#peakMiB > GATEWAY_MIB_MAX;
    const stray = this.#parts.cable.strayTargets.splice(0);
    return [
      ...this.#faults.splice(0),
      ...(isLarge ? [`a gateway of ${this.#peakMiB} MiB; ${GATEWAY_MIB_MAX} are enough`] : []),
      ...stray.map((target) => `passed on to the engine: ${target}`),
    ];
  }

  untilExitIsKnown(): Promise<void> {
    return sleep(LATE_MS_MAX);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const { child, cable, forbidden } = this.#parts;
    await this.#disturbing;
    await child.kill("SIGKILL");
    cable.close();
    forbidden.close();
  }
}

/** The stack of the error that ended it, or the end of its log. */
function lastWords({ stderr }: ServerProcess): string {
  const stack = /"stack":"([^"]*)/.exec(stderr)?.[1];
  return stack?.replaceAll("\\n", "\n").slice(0, LOG_CHARS_SHOWN) ?? stderr.slice(-LOG_CHARS_SHOWN);
}

interface Parts {
  readonly child: ServerProcess;
  readonly cable: Cable;
  readonly forbidden: net.Server;
}
