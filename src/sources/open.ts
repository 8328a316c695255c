import { basename } from 'node:path';
import type { Problem } from '../base/problem.js';
import { Cursor } from './cursor.js';
import { Faults } from './faults.js';
import { openFile } from './file-source.js';
import type { Walk } from './member.js';
import { shownAddress } from './remote/address.js';
import { walkLayer } from './walk.js';

export type { Member } from './member.js';

interface Visited {
  /** Problems that belong to no member. Those of a member are in the `stats` of its stream. */
  readonly problems: readonly Problem[];
  /** How far the file was read, in stored bytes. */
  readonly storedBytes: number;
}

/**
 * Visits every member of one file in order: the file itself, its content when it is compressed, every regular file in it
 * when it is an archive, whatever its name says. `file` is a path, or `-` for standard input.
 *
 * `visit` reads as much of the member's stream as it wants before it returns; the rest is skipped. What it throws ends the
 * visit and is passed on. An empty file is one member without bytes. Throws InputError when the file cannot be read; faults
 * in its data are problems.
 */
export async function visitMembers(file: string, visit: Walk['visit']): Promise<Visited> {
  const faults = new Faults();
  const source = await openFile(file);
  try {
    const cursor = new Cursor(source.chunks);
    const { extent } = source;
    const path = file === '-' ? 'stdin' : shownAddress(file);
    await walkLayer(
      { cursor, extent, size: extent?.size ?? null, stored: () => cursor.position },
      { path, name: basename(path), encodings: [], start: 0 },
      { faults, visit },
    );
    faults.assignToFile();
    return { problems: faults.ofFile.list(), storedBytes: source.reached() };
  } finally {
    await source.close();
  }
}
