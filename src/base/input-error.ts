/**
 * The input or the command is wrong and the user can fix it. The command line prints the message and exits with 2.
 * Anything else that throws is a bug.
 */
export class InputError extends Error {
  override readonly name = 'InputError';

  /** `more`: lines below the message, for those who need them. */
  constructor(
    message: string,
    readonly more: readonly string[] = [],
  ) {
    super(message);
  }
}

/** The result cannot be written: a full disk, a folder that may not be changed. Reading other files would not help. */
export class OutputError extends InputError {}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a directory',
  EEXIST: 'there is a file of that name',
  ENOTDIR: 'a part of the path is a file',
  EMFILE: 'too many open files (`ulimit -n 1024` raises the limit)',
  ENFILE: 'too many open files on this machine',
  ENOSPC: 'no space left on the disk',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file is too large (ulimit -f)',
  EROFS: 'the file system is read-only',
  ENOMEM: 'not enough memory',
  EAGAIN: 'it waits for new data and never ends',
  EIO: 'the disk reported a read error',
};

/** Whether it is a failed system call whose reason says all: a full disk, too many open files. */
export const isSystemError = (error: unknown): boolean =>
  Object.hasOwn(REASONS, String((error as { code?: unknown } | null)?.code));

/** What a bug threw, in words. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A short reason for a failed system call, in words: `no such file or directory`, not `ENOENT`. */
export function describeSystemError(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return REASONS[String(code)] ?? messageOf(error);
}
