import { InputError, messageOf, OutputError } from '../base/input-error.js';
import { shownAddress } from '../sources/remote/address.js';
import { type DigestWant, digest } from './digest.js';
import { type Input, isTraceInput, isUsable } from './input.js';
import { type OnBytes, type ReadFile, readFile } from './read-file.js';
import type { Read } from './read-member.js';
import { copyMember, type StoreOptions, type WrittenFile, writeFacts } from './store-facts.js';

export type { DrawOptions } from './digest.js';

export type Want =
  | DigestWant
  /** Facts go into files, and nothing comes back but their names. */
  | { readonly store: StoreOptions };

/** What became of one file: all inputs in it, or why it could not be read. */
export interface FileResult extends ReadFile<Input> {
  /** Why the file could not be read at all. */
  readonly error: string | null;
  /** It was read, and its result could not be written. */
  readonly isUnwritten?: boolean;
  /** Set for `store`. */
  readonly written?: readonly WrittenFile[];
}

/** Reads one file and keeps what is wanted. Runs in any thread. */
export async function runTask(path: string, want: Want, onBytes: OnBytes): Promise<FileResult> {
  try {
    if (typeof want === 'object' && 'store' in want) return await storeTask(path, want.store, onBytes);
    const light = typeof want === 'object' && want.facts.light === true;
    const keepColumns = want === 'trace' || (want !== 'summary' && want.draw !== undefined);
    const result = await readFile(path, (read) => digest(read, want), onBytes, { light, keepColumns });
    return { ...result, error: null };
  } catch (error) {
    if (!(error instanceof InputError) && process.env.WHYSLOW_DEBUG) throw error;
    return failedTask(path, error);
  }
}

async function storeTask(path: string, store: StoreOptions, onBytes: OnBytes): Promise<FileResult> {
  const written: WrittenFile[] = [];
  const facts = { steps: store.steps };
  const use = (read: Read): Input => {
    const digested = digest(read, { facts });
    if (!isTraceInput(digested)) return digested;
    written.push(writeFacts(digested, store));
    return { ...digested, facts: null };
  };
  const result = await readFile(path, use, onBytes);
  for (const member of result.members)
    if (!isTraceInput(member) && isUsable(member)) written.push(await copyMember(member, store));
  return { ...result, error: null, written };
}

/** A file that cannot be opened, or that triggers a bug, must not stop the others. */
export function failedTask(path: string, error: unknown): FileResult {
  const shown = shownAddress(path);
  const isUnwritten = error instanceof OutputError;
  const reason = error instanceof InputError ? error.message : `reading ${shown} failed: ${messageOf(error)}`;
  return { path: shown, storedBytes: 0, members: [], problems: [], error: reason, isUnwritten };
}
