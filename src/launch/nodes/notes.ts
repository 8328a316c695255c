import { randomBytes } from 'node:crypto';
import { readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readJson } from '../read-json.js';
import { type NodeState, toNodeState } from './node-state.js';
import type { Place } from './place.js';

const NOTE = /^[A-Za-z0-9]{1,64}\.note$/;

/** Tells the first node through the shared folder. */
export async function leaveNote({ folder, launch }: Place, state: NodeState): Promise<void> {
  const partial = join(folder, `.${launch}.partial-${randomBytes(6).toString('hex')}`);
  await writeFile(partial, JSON.stringify(state), { flag: 'wx' });
  await rename(partial, join(folder, `${launch}.note`));
}

/** What the other nodes have told so far. `known` are notes that need not be read again. */
export async function readNotes(
  { folder, launch }: Place,
  known: ReadonlyMap<string, NodeState>,
): Promise<ReadonlyMap<string, NodeState>> {
  const names = (await readdir(folder).catch(() => [])).filter((n) => NOTE.test(n) && n !== `${launch}.note`);
  const read = await Promise.all(
    names.map(async (name) => {
      const before = known.get(name);
      return [name, before?.isDone ? before : toNodeState(await readJson(join(folder, name)))] as const;
    }),
  );
  return new Map(read.flatMap(([name, state]) => (state ? [[name, state] as const] : [])));
}
