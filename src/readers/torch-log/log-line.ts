import type { ProblemText } from '../../base/problem.js';
import { FaultCounter } from '../common/fault-counter.js';

/** Every fault this reader tolerates. Lines that are not torch's are the job's own output and no fault. */
const FAULTS = {
  'long-line': { message: 'A line is longer than 1 MiB.', consequence: 'The line is left out.' },
  'too-many-functions': {
    message: 'The log names more than 256 compiled functions.',
    consequence: 'Further ones are left out.',
  },
  'too-many-guards': {
    message: 'More than 32 different guards of one function failed.',
    consequence: 'Further ones are left out.',
  },
  'too-many-breaks': {
    message: 'The log names more than 256 graph breaks.',
    consequence: 'Further ones are left out.',
  },
} as const satisfies Record<string, ProblemText>;

export type TorchLogFaults = FaultCounter<keyof typeof FAULTS>;
export const newTorchLogFaults = (): TorchLogFaults => new FaultCounter(FAULTS, 'line');

/** One line of torch's log without its prefix. */
export interface LogLine {
  readonly rank: number | null;
  readonly text: string;
}

/**
 * `W1115 00:59:44.690000 402 torch/_dynamo/convert_frame.py:1743] [0/8] …` (torch 2.3 and newer). Launchers put the rank and
 * names of their own before it.
 */
const NEW =
  /^(.{0,100}?)[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d{3,9} \d{1,10} (?:\S{0,400}\/)?torch\/\S{1,200}:\d{1,6}\] ?(?:\[[-!\d/_]{3,30}\] ?)?(?:\[__\w{1,40}\] ?)?/;
/** `[2024-01-15 00:59:44,690] [0/8] torch._dynamo.convert_frame: [WARNING] …` (torch 2.1 and 2.2). */
const OLD =
  /^(.{0,100}?)\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (?:\[[-!\d/_]{3,30}\] )?torch\.[\w.]{1,200}: \[[A-Z]{1,10}\] ?/;
const RANK = /\[(?:rank|default)(\d{1,6})\]:/;

/** Null: not a line of torch's log. */
export function parseLogLine(line: string): LogLine | null {
  const match = NEW.exec(line) ?? OLD.exec(line);
  if (!match) return null;
  const rank = RANK.exec(match[1]!)?.[1];
  return { rank: rank === undefined ? null : Number(rank), text: line.slice(match[0].length) };
}
