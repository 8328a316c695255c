import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeSystemError } from '../../base/input-error.js';
import { FACTS_PATH, portsOf, proofOf, STATE_HEADER } from './address.js';
import type { NodeState } from './node-state.js';
import type { Place } from './place.js';

const RETRY_MS = 500;
/** Without any progress on the connection. */
const STALLED_MS = 20_000;

/**
 * Sends the facts to the first node; without a file only says that they are being made. Tries again until `signal`, because
 * the job may end later there. Null: they have arrived. Otherwise why not.
 */
export async function sendFacts(
  place: Place,
  state: NodeState,
  file: string | null,
  signal: AbortSignal,
): Promise<string | null> {
  if (place.firstNode === null) return 'the job does not say where its first node is (MASTER_ADDR)';
  for (;;) {
    let why = '';
    for (const port of portsOf(place.job)) {
      const answer = await put(place, port, state, file).catch((error: unknown) =>
        describeSystemError(error),
      );
      if (answer === 204) return null;
      // Another program may listen on one of the ports, and only the first node knows the proof.
      why = typeof answer === 'number' ? `it answered ${answer}` : answer;
      if (answer === 400 || answer === 413) return why;
      if (signal.aborted) return why;
    }
    await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
    if (signal.aborted) return why;
  }
}

/** The status code of the answer. */
async function put(place: Place, port: number, state: NodeState, file: string | null): Promise<number> {
  const size = file === null ? 0 : (await stat(file)).size;
  return new Promise((resolve, reject) => {
    const sent = request({
      host: place.firstNode!,
      port,
      method: 'PUT',
      path: FACTS_PATH,
      timeout: STALLED_MS,
      headers: {
        authorization: proofOf(place.job),
        'content-length': size,
        [STATE_HEADER]: JSON.stringify(state),
      },
    });
    sent.once('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.once('timeout', () => sent.destroy(new Error(`no answer within ${STALLED_MS / 1000} s`)));
    sent.once('error', reject);
    if (file === null) sent.end();
    else createReadStream(file).once('error', reject).pipe(sent);
  });
}
