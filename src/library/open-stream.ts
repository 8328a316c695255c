import { diagnoseInputs } from '../diagnosis/diagnosis.js';
import { type Incoming, readStream } from '../ingest/read-stream.js';
import { type OpenedRun, openedRun } from './opened-run.js';

/** Opens one trace from its bytes and keeps its columns. For browsers: needs no file system. Throws InputError. */
export async function openStream(incoming: Incoming): Promise<OpenedRun> {
  const inputs = await readStream(incoming, { facts: { steps: null }, draw: { columns: 'all' } });
  const all = { steps: null, ranks: null };
  return openedRun(diagnoseInputs(inputs, all), null, async (member) => member, Number.POSITIVE_INFINITY);
}
