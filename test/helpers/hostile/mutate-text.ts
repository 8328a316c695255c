import type { Random } from '../simulate/random.js';
import { below, pick, timesRepeated } from './mutate.js';

/** What a number or a word of a log, a table or a stack may be replaced with. */
const WORDS = [
  ...[
    '-',
    '',
    '0',
    '-1',
    '7',
    '65536',
    '4294967296',
    '9'.repeat(20),
    '9'.repeat(400),
    '1e999',
    '1e308',
    '-1e308',
  ],
  ...['nan', 'inf', '-Infinity', '[N/A]', '0x', '0xffffffffffffffff', '1.2.3', '00:00:00', '99:99:99.999999'],
  ...[
    '\x1b[2J',
    '\0',
    '\u202e',
    '\ud83d',
    '漢',
    '#',
    ',',
    '\n',
    '\r',
    '\t',
    '"',
    '(',
    ')',
    '<',
    '&#xffffffff;',
    '%s',
  ],
  ...['a'.repeat(300), 'b'.repeat(20_000), '('.repeat(2000), '../../etc/passwd', '__proto__', 'Infinity'],
];

/** Words, numbers and what is between them. */
const PARTS = /(-?\d+(?:\.\d+)?|[A-Za-z_][\w.]*|\s+|[^\s\w])/;

/** Changes a few words or lines of a text. */
export function mutateText(text: string, random: Random, times: number): string {
  let changed = text;
  for (let i = 0; i < times; i++)
    changed = random.next() < 0.65 ? mutateWord(changed, random) : mutateLine(changed, random);
  return changed;
}

function mutateWord(text: string, random: Random): string {
  // Near one place: splitting all of a large text takes longer than reading it.
  const from = below(random, text.length);
  const near = text.slice(from, from + 400);
  const parts = near.split(PARTS);
  const isNumber = random.next() < 0.6;
  const choices = parts.flatMap((part, i) =>
    /^-?\d/.test(part) === isNumber && part.trim() !== '' ? [i] : [],
  );
  if (choices.length > 0) parts[pick(random, choices)] = pick(random, WORDS);
  return text.slice(0, from) + parts.join('') + text.slice(from + 400);
}

function mutateLine(text: string, random: Random): string {
  const lines = text.split('\n');
  const at = below(random, lines.length);
  const line = lines[at]!;
  switch (below(random, 6)) {
    case 0:
      lines.splice(at, 1);
      break;
    case 1:
      lines.splice(at, 0, line);
      break;
    case 2:
      lines.splice(at, 0, ...repeated(line, random));
      break;
    case 3:
      lines.splice(below(random, lines.length), 0, line);
      break;
    case 4:
      lines.splice(at, 2, `${line}${lines[at + 1] ?? ''}`);
      break;
    default:
      lines[at] = line.slice(0, below(random, line.length + 1));
  }
  return lines.join('\n');
}

/** The line again and again, with its last number growing. */
function repeated(line: string, random: Random): string[] {
  const times = Math.min(timesRepeated(random), Math.ceil(1e6 / (line.length + 1)));
  return Array.from({ length: times }, (_, i) =>
    line.replace(/(\d+)(?=\D*$)/, (digits) => `${(Number(digits) || 0) + i}`),
  );
}
