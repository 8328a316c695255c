/**
 * The input or the command is wrong and the user can fix it. The command line prints the message and exits with 2.
 * Anything else that throws is a bug.
 */
export class InputError extends Error {
  override readonly name = 'InputError';
}

/** A short reason for a failed system call, in words: `no such file`, not `ENOENT`. */
export function describeSystemError(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  switch (code) {
    case 'ENOENT':
      return 'no such file or directory';
    case 'EACCES':
    case 'EPERM':
      return 'permission denied';
    case 'EISDIR':
      return 'it is a directory';
    case 'EMFILE':
    case 'ENFILE':
      return 'too many open files';
    case 'EIO':
      return 'the disk reported a read error';
    default:
      return error instanceof Error ? error.message : String(error);
  }
}
