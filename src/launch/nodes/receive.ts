import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { smallest } from '../../base/statistics.js';
import { jsonObject } from '../read-json.js';
import { FACTS_PATH, mostBytes, portsOf, proofOf, STATE_HEADER } from './address.js';
import { type NodeState, toNodeState } from './node-state.js';
import type { Place } from './place.js';

export interface Receiver {
  readonly port: number;
  close(): void;
}

/** In ms, for one node's facts. */
const REQUEST_MS = 120_000;

/**
 * Listens for the facts of other nodes and keeps each node's as one archive in OUT/nodes. Names come from rank numbers, not
 * from what was sent. Null: none of the ports is free.
 */
export async function receiveFacts(
  place: Place,
  out: string,
  heard: (state: NodeState) => void,
): Promise<Receiver | null> {
  const server = createServer((request, response) => {
    const answer = (code: number) => response.writeHead(code, { connection: 'close' }).end();
    take(request, place, out).then(
      (state) => {
        if (typeof state === 'number') return answer(state);
        answer(204);
        heard(state);
      },
      answer.bind(null, 500),
    );
  });
  server.requestTimeout = REQUEST_MS;
  for (const port of portsOf(place.job)) {
    if (!(await listens(server, port))) continue;
    const close = () => {
      server.close();
      server.closeAllConnections();
    };
    return { port, close };
  }
  return null;
}

async function listens(server: Server, port: number): Promise<boolean> {
  server.listen(port);
  try {
    await once(server, 'listening');
    return true;
  } catch {
    return false; // another program has the port
  }
}

/** Returns what the node told, or the status code of a refusal. */
async function take(request: IncomingMessage, place: Place, out: string): Promise<NodeState | number> {
  if (!hasProof(request, place.job)) return 401;
  if (request.method !== 'PUT' || request.url !== FACTS_PATH) return 404;
  const state = toNodeState(jsonObject(String(request.headers[STATE_HEADER] ?? '')));
  const known = new Set(place.elsewhere);
  // A node may have ranks that are not measured; one without any that is has nothing for us.
  if (!state?.ranks.some((rank) => known.has(rank)) || state.ranks.some((rank) => place.ranks.includes(rank)))
    return 400;
  const length = Number(request.headers['content-length'] ?? Number.NaN);
  if (!(length >= 0)) return 411;
  if (length > mostBytes(state.ranks.length)) return 413;
  if (length === 0) return { ...state, isDone: false };
  await keep(request, join(out, 'nodes'), `from-rank-${smallest(state.ranks)}.tar.gz`);
  return { ...state, isDone: true };
}

function hasProof({ headers }: IncomingMessage, job: string): boolean {
  const [shown, expected] = [Buffer.from(headers.authorization ?? ''), Buffer.from(proofOf(job))];
  return shown.length === expected.length && timingSafeEqual(shown, expected);
}

/** Readers never see half of it. */
async function keep(body: IncomingMessage, folder: string, name: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const partial = join(folder, `.${name}.partial-${randomBytes(8).toString('hex')}`);
  try {
    await pipeline(body, createWriteStream(partial, { flags: 'wx' }));
    await rename(partial, join(folder, name));
  } finally {
    await rm(partial, { force: true }).catch(() => {});
  }
}
