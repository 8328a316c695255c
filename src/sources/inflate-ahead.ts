import type { Progress } from './decode.js';
import type { Inflater } from './inflated.js';
import type { Lending } from './stream.js';

interface Outcome {
  /** Decoded bytes that were handed out. */
  readonly made: number;
  /** False: something is odd after them. Who decodes from the start and skips them gets the rest, and finds out what. */
  readonly isComplete: boolean;
}

/**
 * The content of a gzip file, inflated into memory that is used again. Fresh memory for every chunk costs page faults in one
 * thread and most of the garbage collections in the other.
 */
export async function* inflateAhead(
  inflater: Inflater,
  progress: Progress,
  lending: Lending,
): AsyncGenerator<Uint8Array, Outcome> {
  let made = 0;
  try {
    for (;;) {
      const message = await inflater.next();
      if (message.type === 'end') return { made, isComplete: message.isComplete };
      const { memory, length, consumed } = message;
      made += length;
      progress.consumed = consumed;
      if (length > 0) yield memory.subarray(0, length);
      inflater.answer(lending.isOn ? memory : null);
    }
  } finally {
    // The caller closes the file next.
    await inflater.close();
  }
}
