import { InputError, messageOf } from '../base/input-error.js';
import { shownAddress } from '../sources/remote/address.js';
import { digest, type Want } from './digest.js';
import type { TaskMember } from './member.js';
import { type FileResult, type OnBytes, readFile } from './read-file.js';

export type { DrawOptions, Want } from './digest.js';

export interface TaskResult extends FileResult<TaskMember> {
  /** Why the file could not be read at all. */
  readonly error: string | null;
}

/** Reads one file and keeps what is wanted. Runs in any thread. */
export async function runTask(path: string, want: Want, onBytes: OnBytes): Promise<TaskResult> {
  try {
    return { ...(await readFile(path, (member) => digest(member, want), onBytes)), error: null };
  } catch (error) {
    if (!(error instanceof InputError) && process.env.WHYSLOW_DEBUG) throw error;
    return failedTask(path, error);
  }
}

/** A file that cannot be opened, or brings a bug to light, must not stop the others. */
export function failedTask(path: string, error: unknown): TaskResult {
  const shown = shownAddress(path);
  const reason = error instanceof InputError ? error.message : `reading ${shown} failed: ${messageOf(error)}`;
  return { path: shown, storedBytes: 0, members: [], problems: [], error: reason };
}
