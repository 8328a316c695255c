import { displayWidth, splitAtWidth } from './width.js';

/** Cuts out the middle, the least useful part of a path or kernel name. */
export function shorten(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  const [head] = splitAtWidth(text, Math.ceil((width - 1) / 2));
  const backwards = [...text].reverse().join('');
  const [tail] = splitAtWidth(backwards, width - 1 - displayWidth(head));
  return `${head}…${[...tail].reverse().join('')}`;
}

/** Cuts off the beginning: of a path, the end says most. */
export function lastOf(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  const [tail] = splitAtWidth([...text].reverse().join(''), width - 1);
  return `…${[...tail].reverse().join('')}`;
}

/** Breaks text into lines of at most `width`. Leading space is kept, later lines are indented, overlong words are cut. */
export function wrap(text: string, width: number, indent: string): string {
  const lead = /^ */.exec(text)![0];
  const lines: string[] = [];
  let line = lead;
  for (let word of text.slice(lead.length).split(' ')) {
    const space = line.trim() === '' ? '' : ' ';
    if (displayWidth(line + space + word) <= width) {
      line += space + word;
      continue;
    }
    if (space) {
      lines.push(line);
      line = indent;
    }
    // Keep a running width instead of measuring the rest again: names can be megabytes long.
    for (let left = displayWidth(word); displayWidth(line) + left > width; ) {
      const [head, tail] = splitAtWidth(word, width - displayWidth(line));
      if (tail === '') break;
      lines.push(line + head);
      line = indent;
      word = tail;
      left -= displayWidth(head);
    }
    line += word;
  }
  return [...lines, line].join('\n');
}
