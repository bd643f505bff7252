/** Plays recipes against one server, and says what it did wrong. */
import fc from "fast-check";
import { ERROR_ENTRIES } from "../../server/docs/pages.ts";
import { Client, type Heard, type Reply } from "./client.ts";
import { disturbanceOf } from "./odd.ts";
import type { Departure, Frame, Recipe } from "./recipe.ts";
import { GATEWAY, recipes, USUAL } from "./recipes.ts";
import { OWN_ID, Stage } from "./stage.ts";
import { BINARY_PROTOCOL } from "./sockets/frames.ts";
import { frameBytes, lastCommand, ping, readSpoken } from "./sockets/frame-bytes.ts";
import { hasFailed } from "./watch.ts";
import { bytesOf, damagedBytes } from "./wire.ts";
import { sleep } from "../support/server-process.ts";

/** Requests of a store; and of a gateway, long enough to show a leak. */
export const ROUND_REQUESTS = 5_000;
export const GATEWAY_ROUND_REQUESTS = 20_000;
/** Clients of a gateway at once. */
export const GATEWAY_CROWD = 16;
/** The state is compared with that of the records after so many requests. */
const COMPARED = 100;
const GATEWAY_COMPARED = 1_000;
/** Pause of a client after 503, so that an absent engine does not use up the requests. */
const RETRY_MS = 100;
const NOT_READY = 503;
/** The library's answer to HTTP/1.0. */
const OTHER_VERSION = 505;
const SWITCHED = 101;
/** A server that refuses a longer request unread resets the connection, and the answer is lost. */
const SENT_AT_ONCE_MAX = 65_536;
const NO_HEADERS: Reply["headers"] = new Map();
const NOTHING: Heard = { replies: [], rest: "", hangs: false };
const REFUSED = 400;
/** By the limits that an organization may set: a retry counts, too. */
const LIMITED = 429;
const BODY_CHARS_SHOWN = 300;
const STRAYED = "the state is another one than its records make";
const HEALTH = Buffer.from("GET /healthz HTTP/1.1\r\nHost: fuzz\r\n\r\n");
const REQUEST_ID = "X-Request-ID";

export interface Found {
  /** Faults in a few words each. */
  readonly faults: readonly string[];
  /** Those that had begun; the one at which it showed comes last. */
  readonly recipes: readonly Recipe[];
}

export interface Played {
  readonly counts: Readonly<Record<string, number>>;
  readonly found: Found | null;
  /** Largest resident memory of the gateway. */
  readonly gatewayMiB: number;
}

/** @returns The recipes of a round; the same for the same seed. */
export function recipesOf(seed: number, count: number): Recipe[] {
  return fc.sample(recipes(USUAL), { seed, numRuns: count });
}

/** @returns The same for a gateway. The engine fails with each of so many requests. */
export function gatewayRecipesOf(seed: number, count: number, disturbEvery: number): Recipe[] {
  return fc.sample(recipes(GATEWAY), { seed, numRuns: count }).map((recipe, index) => {
    const before = Math.floor(index / disturbEvery);
    if ((index + 1) % disturbEvery !== 0) return recipe;
    const [failure] = fc.sample(disturbanceOf(before), { seed: seed + before, numRuns: 1 });
    return { ...recipe, disturbance: failure! };
  });
}

export interface PlayOptions {
  /** Clients at once. */
  readonly crowd: number;
  /** Called after each recipe. */
  readonly tell?: () => void;
  /** Recipes between two comparisons of the state. */
  readonly compared?: number;
}

export async function play(all: readonly Recipe[], options: PlayOptions): Promise<Played> {
  const { crowd, compared = crowd === 1 ? COMPARED : GATEWAY_COMPARED } = options;
  const broken: string[] = [];
  const stage = await Stage.open((error) => broken.push(`the process would end: ${String(error)}`));
  const takeFaults = () => [...broken, ...stage.takeFaults()];
  const players = Array.from({ length: crowd }, () => new Player(stage, crowd === 1));
  const round = new Round(all, { ...options, compared }, { stage, takeFaults });
  try {
    await Promise.all(players.map((player) => round.follow(player)));
    await round.end();
  } finally {
    for (const player of players) player.close();
    await stage.close();
  }
  const { counts, found } = round;
  const isLate = compared > 1 && found?.faults.includes(STRAYED) === true;
  const first = isLate ? await narrowed(found, options) : found;
  return { counts, found: first, gatewayMiB: stage.gateway.peakMiB };
}

interface RoundParts {
  readonly stage: Stage;
  /** @returns What the processes did wrong since the last call. */
  readonly takeFaults: () => readonly string[];
}

/** The recipes in order, each taken by the next client that is free, up to the first fault. */
class Round {
  readonly counts: Record<string, number> = {};
  found: Found | null = null;
  readonly #all: readonly Recipe[];
  readonly #options: PlayOptions & { readonly compared: number };
  readonly #parts: RoundParts;
  #next = 0;

  constructor(
    all: readonly Recipe[],
    options: PlayOptions & { readonly compared: number },
    parts: RoundParts,
  ) {
    this.#all = all;
    this.#options = options;
    this.#parts = parts;
  }

  async follow(player: Player): Promise<void> {
    const { crowd, tell } = this.#options;
    while (this.found === null && this.#next < this.#all.length) {
      const index = this.#next++;
      const recipe = this.#all[index]!;
      const { heard, faults } = await player.play(recipe);
      const statuses = heard.replies.map(({ status }) => status);
      for (const label of [...labelsOf(recipe), ...statuses.map(String)]) {
        this.counts[label] = (this.counts[label] ?? 0) + 1;
      }
      await this.#note(faults, index);
      tell?.();
      if (crowd > 1 && statuses.includes(NOT_READY)) await sleep(RETRY_MS);
    }
  }

  /** Checks after the last answer. */
  async end(): Promise<void> {
    await this.#parts.stage.gateway.untilExitIsKnown();
    await this.#note([], this.#all.length - 1);
  }

  async #note(faults: readonly string[], index: number): Promise<void> {
    const { stage, takeFaults } = this.#parts;
    // An ending gateway closes connections earlier.
    if (faults.length > 0) await stage.gateway.untilExitIsKnown();
    const isCompared = (index + 1) % this.#options.compared === 0 || index + 1 === this.#all.length;
    const hasStrayed = isCompared && stage.dispatch.hasStrayed();
    const seen = [...takeFaults(), ...faults, ...(hasStrayed ? [STRAYED] : [])];
    if (seen.length === 0 || this.found !== null) return;
    const others = this.#all.slice(0, this.#next).toSpliced(index, 1);
    this.found = { faults: seen, recipes: [...others, this.#all[index]!] };
  }
}

function labelsOf({ kind, departure, disturbance }: Recipe): string[] {
  return [
    kind,
    ...(departure === undefined ? [] : ["client leaves"]),
    ...(disturbance === undefined ? [] : ["engine fails", `engine: ${disturbance.kind}`]),
  ];
}

/** Plays the recipes again, compares after each, and so finds the first that shows a fault. */
async function narrowed(found: Found, options: PlayOptions): Promise<Found> {
  return (await play(found.recipes, { ...options, compared: 1 })).found ?? found;
}

interface Judged {
  readonly heard: Heard;
  readonly faults: readonly string[];
}

class Player {
  readonly #stage: Stage;
  readonly #isAlone: boolean;
  readonly #direct: Client;
  readonly #throughGateway: Client;

  /** @param isAlone - Whether no other client changes the store meanwhile. */
  constructor(stage: Stage, isAlone: boolean) {
    this.#stage = stage;
    this.#isAlone = isAlone;
    this.#direct = new Client(stage.port);
    this.#throughGateway = new Client(stage.gateway.port);
  }

  async play(recipe: Recipe): Promise<Judged> {
    const { gateway, dispatch } = this.#stage;
    const client = recipe.isThroughGateway === true ? this.#throughGateway : this.#direct;
    const hasEngine = gateway.watchEngine();
    const isBack = recipe.disturbance && gateway.disturb(recipe.disturbance);
    const wrote = dispatch.mark();
    const { heard, faults } = await this.#send(client, recipe).catch(noConnection);
    await isBack;
    for (const { body } of heard.replies) this.#stage.learn(body);
    if (client === this.#throughGateway && !hasEngine()) {
      return { heard, faults: faults.filter((fault) => !mayFollowLoss(fault)) };
    }
    // The dispatch watches what comes over HTTP; a gateway sends bookings over its link. Of bytes,
    // the client leaves before it has every answer.
    const isHttp = client === this.#direct && recipe.frames === undefined;
    const isWatched = isHttp || recipe.kind === "bytes" || !this.#isAlone;
    const isRefused = !isWatched && isWholeRefusal(heard);
    const isWrong = isRefused && wrote();
    return { heard, faults: isWrong ? [...faults, "refused, but wrote records"] : faults };
  }

  /** The answer repeats the id of its request: none may reach another client. */
  async #send(client: Client, recipe: Recipe): Promise<Judged> {
    const { request } = recipe;
    const hasOther = request.headers.some(([name]) => name === REQUEST_ID);
    // Damage of the bytes may turn an id into another.
    if (hasOther || recipe.kind === "bytes") return this.#sendAs(client, recipe);
    const id = this.#stage.nextRequestId();
    const headers = [...request.headers, [REQUEST_ID, id] as const];
    const judged = await this.#sendAs(client, { ...recipe, request: { ...request, headers } });
    return { ...judged, faults: [...judged.faults, ...faultsOfIds(judged.heard, id)] };
  }

  async #sendAs(client: Client, recipe: Recipe): Promise<Judged> {
    if (recipe.departure !== undefined) return this.#leave(client, recipe, recipe.departure);
    if (recipe.frames !== undefined) return this.#converse(client, recipe, recipe.frames);
    const bytes = bytesOf(recipe, this.#stage.pools);
    const isHead = recipe.request.method === "head";
    if (recipe.kind === "bytes") {
      const heard = await client.throwIn(bytes);
      return { heard, faults: [...faultsOf(heard), ...(await faultsAfter(client))] };
    }
    const heard = await client.ask(bytes, isHead);
    const mayBeLost = bytes.length > SENT_AT_ONCE_MAX && heard.replies.length === 0;
    const faults = [...faultsOf(heard), ...(mayBeLost ? [] : faultsOfOne(heard, isHead))];
    if (recipe.kind !== "again") return { heard, faults };
    const twice = await client.ask(bytes, isHead);
    return { heard, faults: [...faults, ...faultsOf(twice), ...faultsOfTwo(recipe, heard, twice)] };
  }

  async #leave(client: Client, recipe: Recipe, departure: Departure): Promise<Judged> {
    const { pools } = this.#stage;
    const frames = (recipe.frames ?? []).map((frame) => frameBytes(frame, pools));
    await client.leave(Buffer.concat([bytesOf(recipe, pools), ...frames]), departure);
    return { heard: NOTHING, faults: await faultsAfter(client) };
  }

  /** Every frame that is whole is answered, or the connection closed. */
  async #converse(
    client: Client,
    { request, damages }: Recipe,
    frames: readonly Frame[],
  ): Promise<Judged> {
    const { pools } = this.#stage;
    const handshake = {
      bytes: bytesOf({ request, damages: [] }, pools),
      isHead: request.method === "head",
    };
    const hasCommands = request.path.endsWith("/booking/socket");
    const isBinary = request.headers.some(([, value]) => value === BINARY_PROTOCOL);
    let bytes: Buffer = Buffer.concat(frames.map((frame) => frameBytes(frame, pools)));
    const isDamaged = damages.length > 0;
    for (const damage of damages) bytes = damagedBytes(bytes, damage);
    const last = hasCommands ? lastCommand(isBinary) : ping();
    const isEnough = (text: string) => {
      const { hasLast, hasPong, isClosed } = readSpoken(text, hasCommands);
      return isClosed || (hasCommands ? hasLast : hasPong);
    };
    const following = isDamaged ? bytes : Buffer.concat([bytes, last]);
    const heard = await client.converse(
      handshake,
      { bytes: following, isLast: isDamaged },
      isEnough,
    );
    const { answers: said, hasLast } = readSpoken(heard.rest, hasCommands);
    const failed = said.filter(({ status, body }) => hasFailed(status, body));
    const faults = failed.map(
      ({ status, body }) => `a command was answered with ${status} ${body}`,
    );
    const answers = said.map(({ status }) => ({ status, headers: NO_HEADERS, body: "" }));
    const isAccepted = heard.replies[0]?.status === SWITCHED;
    const replies = isAccepted ? answers : heard.replies;
    const isCut = isAccepted && !hasLast;
    return { heard: { ...heard, replies, isCut }, faults: [...faultsOf(heard), ...faults] };
  }

  close(): void {
    this.#direct.close();
    this.#throughGateway.close();
  }
}

function faultsOfIds({ replies }: Heard, sent: string): string[] {
  const ids = replies.map(({ headers }) => headers.get("x-request-id") ?? "");
  const foreign = ids.filter((id) => id !== sent && OWN_ID.test(id));
  return foreign.map((id) => `the answer to the request ${id} of another client, not to ${sent}`);
}

function noConnection(error: unknown): Judged {
  return { heard: NOTHING, faults: [`no connection: ${String(error)}`] };
}

/** A lost engine is 503, and no answer to a change whose outcome is unknown. */
function mayFollowLoss(fault: string): boolean {
  return /^503: |^a command was answered with 503|^the connection ended|^a retry got/.test(fault);
}

/** Every answer is known, and none is that to a change. */
function isWholeRefusal({ replies, isCut = false }: Heard): boolean {
  return !isCut && replies.length > 0 && replies.every(({ status }) => status >= REFUSED);
}

/** Whatever was sent before on another connection, the next request is answered. */
async function faultsAfter(client: Client): Promise<string[]> {
  client.close();
  const { replies, rest, hangs } = await client.ask(HEALTH, false);
  if (replies[0]?.status === 200) return [];
  const came = `${replies[0]?.status ?? "none"} ${rest.slice(0, BODY_CHARS_SHOWN)}`;
  return [
    `no answer to /healthz on another connection, but ${came}${hangs ? ", and it hangs" : ""}`,
  ];
}

function faultsOf({ replies, hangs }: Heard): string[] {
  const failed = replies.filter(
    ({ status, body }) => hasFailed(status, body) && status !== OTHER_VERSION,
  );
  return [
    ...(hangs ? ["no answer, and the connection stays open"] : []),
    ...failed.map(({ status, body }) => `${status}: ${body.slice(0, BODY_CHARS_SHOWN)}`),
    ...replies.flatMap(faultsOfProblem),
  ];
}

function faultsOfOne({ replies, rest }: Heard, isHead: boolean): string[] {
  if (replies.length === 0) return ["the connection ended without an answer"];
  const isOne = replies.length <= 1 && (rest === "" || isHead);
  return isOne
    ? []
    : [`${replies.length} answers to one request, and then ${JSON.stringify(rest)}`];
}

/** A refusal under `/api/` is a problem document with a documented code. */
function faultsOfProblem({ status, headers, body }: Reply): string[] {
  if (status < REFUSED || !/problem\+json/.test(headers.get("content-type") ?? "")) return [];
  if (body === "") return [];
  const { errorCode, status: said } = JSON.parse(body) as { errorCode: string; status: number };
  if (errorCode in ERROR_ENTRIES && said === status) return [];
  return [`${status} with a problem of ${said} ${errorCode}`];
}

/** After a rotation, the key of the first request may not rotate again. Each ticket is new. */
const NOT_REPEATED = /keys\/rotate$|stream-tickets$/;

const SECRET = /,?"secret":"[^"]*"/;

/** A retry with its key gets the first answer, byte for byte, without the secret of a webhook. */
function faultsOfTwo({ request }: Recipe, first: Heard, second: Heard): string[] {
  const hasKey = request.headers.some(([name]) => name === "Idempotency-Key");
  const [a, b] = [first.replies[0], second.replies[0]];
  const isRepeated = hasKey && request.method !== "get" && a !== undefined && a.status < REFUSED;
  if (!isRepeated || NOT_REPEATED.test(request.path) || b?.status === LIMITED) return [];
  const expected = /webhooks/.test(request.path) ? a.body.replace(SECRET, "") : a.body;
  return expected === b?.body ? [] : [`a retry got ${b?.status} ${b?.body}, not ${a.body}`];
}
