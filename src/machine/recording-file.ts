import type { MachineFacts, MachineSample, ProcessFacts, Recording } from '../model/recording.js';

/**
 * A recording as JSON lines: `{"whyslow":1,"kind":"proc-samples","machine":…}`, then `{"process":…}` for each process,
 * `{"sample":…}` in order of time, `{"gpu_text":…}`. Names are those of recording.ts in snake_case (docs/usage.md).
 */
export function recordingLines(recording: Recording): string[] {
  return [
    headerLine(recording.machine),
    ...recording.processes.map(processLine),
    ...recording.samples.map(sampleLine),
    ...piecesOf(recording.gpuText ?? '').map((gpuText) => line({ gpuText })),
  ];
}

export const headerLine = (machine: MachineFacts): string =>
  line({ whyslow: 1, kind: 'proc-samples', machine });
export const processLine = (process: ProcessFacts): string => line({ process });
export const sampleLine = (sample: MachineSample): string => line({ sample });

const line = (value: unknown): string => JSON.stringify(inSnakeCase(value));

/** Readers leave out lines above 1 MiB. */
const PIECE = 200_000;
const piecesOf = (text: string): string[] => text.match(new RegExp(`[^]{1,${PIECE}}`, 'g')) ?? [];

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function inSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inSnakeCase);
  // Microseconds suffice.
  if (typeof value === 'number') return Math.round(value * 1e6) / 1e6;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) =>
      name === 'environment' ? [name, inner] : [snake(name), inSnakeCase(inner)],
    ),
  );
}
