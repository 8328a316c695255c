import { createHash } from 'node:crypto';

/** Below the ports that systems give to outgoing connections, so that a busy job rarely has them. */
const FIRST_PORT = 20_000;
const PORTS = 10_000;
const TRIES = 4;

/** Where the first node listens: the first of these that is free. Every node can work them out from the job's token. */
export function portsOf(job: string): readonly number[] {
  const start = createHash('sha256').update(`port ${job}`).digest().readUInt32BE();
  return Array.from({ length: TRIES }, (_, i) => FIRST_PORT + ((start + i) % PORTS));
}

/** What a node shows as proof that it is of this job. */
export const proofOf = (job: string) => `Bearer ${createHash('sha256').update(`proof ${job}`).digest('hex')}`;

/** The header that holds the state of the node, as JSON. */
export const STATE_HEADER = 'x-whyslow-node';
export const FACTS_PATH = '/facts';

/**
 * Facts have at most 2 MB per rank; logs and manifests come with them. A node that would send more than this leaves files
 * out, and the first node takes no more.
 */
export const mostBytes = (ranks: number) => 8e6 + 4e6 * ranks;
