import { InputError, messageOf, OutputError } from '../base/input-error.js';
import { shownAddress } from '../sources/remote/address.js';
import { type DigestWant, digest } from './digest.js';
import { isTraceMember, type TaskMember } from './member.js';
import type { MemberResult } from './member-reader.js';
import { type FileResult, type OnBytes, readFile } from './read-file.js';
import {
  copyMember,
  isWorthKeeping,
  type StoreOptions,
  type WrittenFile,
  writeFacts,
} from './store-facts.js';

export type { DrawOptions } from './digest.js';

export type Want =
  | DigestWant
  /** Facts go into files, and nothing comes back but their names. */
  | { readonly store: StoreOptions };

export interface TaskResult extends FileResult<TaskMember> {
  /** Why the file could not be read at all. */
  readonly error: string | null;
  /** It was read, and its result could not be written. */
  readonly isUnwritten?: boolean;
  /** Set for `store`. */
  readonly written?: readonly WrittenFile[];
}

/** Reads one file and keeps what is wanted. Runs in any thread. */
export async function runTask(path: string, want: Want, onBytes: OnBytes): Promise<TaskResult> {
  try {
    if (typeof want === 'object' && 'store' in want) return await storeTask(path, want.store, onBytes);
    const light = typeof want === 'object' && want.facts.light === true;
    const result = await readFile(path, (member) => digest(member, want), onBytes, { light });
    return { ...result, error: null };
  } catch (error) {
    if (!(error instanceof InputError) && process.env.WHYSLOW_DEBUG) throw error;
    return failedTask(path, error);
  }
}

async function storeTask(path: string, store: StoreOptions, onBytes: OnBytes): Promise<TaskResult> {
  const written: WrittenFile[] = [];
  const facts = { steps: store.steps };
  const use = (member: MemberResult): TaskMember => {
    const digested = digest(member, { facts });
    if (!isTraceMember(digested)) return digested;
    written.push(writeFacts(digested, store));
    return { ...digested, facts: null };
  };
  const result = await readFile(path, use, onBytes);
  for (const member of result.members)
    if (!isTraceMember(member) && isWorthKeeping(member)) written.push(await copyMember(member, store));
  return { ...result, error: null, written };
}

/** A file that cannot be opened, or brings a bug to light, must not stop the others. */
export function failedTask(path: string, error: unknown): TaskResult {
  const shown = shownAddress(path);
  const isUnwritten = error instanceof OutputError;
  const reason = error instanceof InputError ? error.message : `reading ${shown} failed: ${messageOf(error)}`;
  return { path: shown, storedBytes: 0, members: [], problems: [], error: reason, isUnwritten };
}
