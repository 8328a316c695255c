import { InputError } from '../base/input-error.js';
import type { Recording } from '../model/recording.js';
import { RecordingReader } from '../readers/proc-samples/descriptor.js';

export interface ReadRecording {
  readonly recording: Recording;
  /** Lines that are not valid: a recording that was cut, or edited. */
  readonly skipped: number;
}

/** Reads what `whyslow triage --out` and `whyslow run` wrote, as far as it is sound. */
export function readRecording(bytes: Uint8Array): ReadRecording {
  const reader = new RecordingReader();
  reader.push(bytes);
  const { recording, problems } = reader.finish();
  if (recording === null)
    throw new InputError(
      'this is not a recording of `whyslow triage --out`: its first line is not the header',
    );
  return { recording, skipped: problems.reduce((n, p) => n + p.count, 0) };
}
