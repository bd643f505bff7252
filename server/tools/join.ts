/** `frontrow join`: from the folder of a peer or a backup, or over the network. */
import type { IncomingMessage } from "node:http";
import path from "node:path";
import { text as textOf } from "node:stream/consumers";
import { realDisk } from "../../persistence/disk/disk.ts";
import { ExitCode, Malformed } from "../../persistence/disk/faults.ts";
import { ArrivingCopy } from "../../persistence/rescue/joining/arriving-copy.ts";
import type { OnWork } from "../../persistence/rescue/survey.ts";
import { COPY_PATH, COPY_PROTOCOL } from "../cluster/copy-path.ts";
import { UpstreamSocket } from "../gateway/web-socket.ts";
import { Progress } from "../observe/progress.ts";
import { UsageError } from "../usage-error.ts";
import { backup, tellCopied } from "./copy.ts";

/** The peer sends a ping every 30 seconds: after this time without a byte it is lost. */
const SILENT_MS_MAX = 75_000;

/** The peer did not send a whole copy. */
class PeerLost extends Error {
  override readonly name = "PeerLost";
  readonly exitCode = ExitCode.TEMPORARY;
}

/**
 * @param source - A folder, or the base URL of a peer.
 * @param token - The platform token of the peer.
 * @returns The exit code. @throws StoreFault, PeerLost, UsageError.
 */
export async function join(source: string, folder: string, token?: string): Promise<number> {
  if (!/^https?:\/\//.test(source)) return backup(source, folder);
  if (token === undefined) throw new UsageError("no token; set FRONTROW_PLATFORM_TOKEN");
  const to = path.resolve(folder);
  const progress = new Progress(process.stderr);
  const onWork: OnWork = (what, done, total) => progress.tell(what, done, total);
  try {
    const copy = new ArrivingCopy({ disk: realDisk, to, onWork });
    try {
      await receive(new URL(source), token, copy);
      return tellCopied(copy.finish(), to);
    } catch (error) {
      copy.abandon();
      throw error;
    }
  } finally {
    progress.stop();
  }
}

/** Settles when the whole copy has come. */
function receive(server: URL, token: string, copy: ArrivingCopy): Promise<void> {
  const { origin } = server;
  const headers = { Authorization: `Bearer ${token}`, "Sec-WebSocket-Protocol": COPY_PROTOCOL };
  return new Promise((resolve, reject) => {
    const socket = new UpstreamSocket(
      { server, path: COPY_PATH, headers },
      {
        opened: () => socket.limitSilence(SILENT_MS_MAX),
        message: (payload, isBinary) => {
          try {
            copy.take(isBinary ? payload : payload.toString());
          } catch (error) {
            reject(error instanceof Malformed ? lost(origin, error.message) : error);
            socket.destroy();
          }
        },
        refused: (response) => void refusalOf(origin, response).then(reject),
        closed: (_, reason) => {
          if (copy.isWhole) resolve();
          else reject(lost(origin, reason === "" ? "the connection broke off" : reason));
        },
      },
    );
  });
}

function lost(peer: string, reason: string): PeerLost {
  return new PeerLost(`no copy from ${peer}: ${reason}; nothing was kept, so try again`);
}

async function refusalOf(peer: string, response: IncomingMessage): Promise<Error> {
  const body = await textOf(response).catch(() => "");
  const detail = /"detail":"([^"]*)"/.exec(body)?.[1] ?? "it is not a server of Frontrow";
  const status = response.statusCode ?? 0;
  if (status === 404) {
    return new UsageError(`${peer} sends no copies: start it with FRONTROW_PLATFORM_TOKEN`);
  }
  const reason = `it answers ${status}: ${detail}`;
  return status === 503 ? lost(peer, reason) : new UsageError(`no copy from ${peer}: ${reason}`);
}
