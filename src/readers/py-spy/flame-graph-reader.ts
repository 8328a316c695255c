import type { StreamReader } from '../common/reader.js';
import { WholeFile } from '../common/whole-file.js';
import { newPySpyFaults, type StacksRead } from './stack-book.js';
import { RawReader } from './text-reader.js';

/** A picture of an SVG's head, and the namespace of the library that draws it for py-spy. */
export const looksLikeFlameGraph = (head: string): boolean =>
  /^\s*<(?:\?xml|!DOCTYPE svg|svg)/i.test(head) && head.includes('xmlns:fg=');

/** py-spy's SVG files are a few hundred kilobytes. */
const MAX_BYTES = 64 << 20;
const MAX_BOXES = 200_000;
/** Characters of all stacks written out: boxes that are nested deeply have long ones. */
const MAX_WRITTEN = 64 << 20;

/** One frame: its name, its row, the first of its samples and how many it has. */
const BOX = /<title>([^<]{1,4000}) \([\d,]{1,15} samples?, [^<]{1,12}\)<\/title><rect ([^<>]{1,300})\/?>/g;
const attribute = (rect: string, name: string): number =>
  Number(new RegExp(`(?:^| )${name}="(\\d{1,12})"`).exec(rect)?.[1] ?? Number.NaN);

interface Box {
  readonly name: string;
  readonly row: number;
  readonly first: number;
  readonly samples: number;
}

/** `py-spy record -o profile.svg`, its default: the picture holds every stack with its samples, as the raw format does. */
export class FlameGraphReader implements StreamReader<StacksRead> {
  readonly #file = new WholeFile(MAX_BYTES);

  push(chunk: Uint8Array): void {
    this.#file.push(chunk);
  }

  finish(): StacksRead {
    const faults = newPySpyFaults();
    if (this.#file.isTooLarge) {
      faults.add('too-large', null);
      return { profiles: [], problems: faults.list() };
    }
    const svg = this.#file.text();
    if (!/<\/svg>\s*$/.test(svg.slice(-200))) faults.add('cut-picture', null);
    const boxes = boxesIn(svg);
    const { lines, isWhole } = stacksOf(boxes.slice(0, MAX_BOXES));
    if (boxes.length > MAX_BOXES || !isWhole) faults.add('too-many-stacks', null);
    const raw = new RawReader();
    for (const line of lines) raw.push(Buffer.from(`${line}\n`));
    const result = raw.finish();
    return { ...result, problems: [...faults.list(), ...result.problems] };
  }
}

function boxesIn(svg: string): Box[] {
  const boxes: Box[] = [];
  for (const [, title = '', rect = ''] of svg.matchAll(BOX)) {
    const [row, first, samples] = ['y', 'fg:x', 'fg:w'].map((name) => attribute(rect, name)) as [
      number,
      number,
      number,
    ];
    if (row >= 0 && first >= 0 && samples > 0) boxes.push({ name: unescaped(title), row, first, samples });
    if (boxes.length > MAX_BOXES) break;
  }
  return boxes;
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
const unescaped = (text: string): string =>
  text.replace(/&(lt|gt|quot|apos|amp);/g, (_, name: string) => ENTITIES[name]!);

/** Each stack as a line of the raw format: what a box has more than the boxes above it are samples of its own. */
function stacksOf(boxes: readonly Box[]): { readonly lines: readonly string[]; readonly isWhole: boolean } {
  const root = boxes.find((box) => box.name === 'all');
  if (!root) return { lines: [], isWhole: true };
  // The root is the top row or the bottom one, by the direction in which the picture grows.
  const depth = ({ row }: Box) => Math.abs(row - root.row);
  const ordered = boxes
    .filter((box) => box !== root)
    .sort((a, b) => a.first - b.first || depth(a) - depth(b));
  const open: { readonly box: Box; readonly path: string; own: number }[] = [];
  const lines: string[] = [];
  let left = MAX_WRITTEN;
  const close = () => {
    const { path, own } = open.pop()!;
    if (own <= 0) return;
    left -= path.length;
    if (left > 0) lines.push(`${path} ${own}`);
  };
  for (const box of ordered) {
    while (open.length > 0 && !holds(open.at(-1)!.box, box, depth)) close();
    const caller = open.at(-1);
    if (caller) caller.own -= box.samples;
    const path = caller ? `${caller.path};${box.name}` : box.name;
    open.push({ box, path, own: box.samples });
  }
  while (open.length > 0) close();
  return { lines, isWhole: left > 0 };
}

const holds = (caller: Box, callee: Box, depth: (box: Box) => number): boolean =>
  depth(caller) < depth(callee) && callee.first < caller.first + caller.samples;
