import { displayWidth, splitAtWidth } from './width.js';

/** Figures as people read them. Thin and plain: no locale, so that output is the same everywhere. */

export function formatCount(n: number): string {
  if (n < 10_000) return String(n);
  if (n < 1e6) return `${trim(n / 1e3)} k`;
  return n < 1e9 ? `${trim(n / 1e6)} M` : `${trim(n / 1e9)} G`;
}

export function formatBytes(n: number): string {
  if (n < 1000) return `${n} B`;
  if (n < 1e6) return `${trim(n / 1e3)} kB`;
  return n < 1e9 ? `${trim(n / 1e6)} MB` : `${trim(n / 1e9)} GB`;
}

export function formatMs(ms: number): string {
  if (Number.isNaN(ms)) return '?';
  if (ms >= 10_000) return `${trim(ms / 1000)} s`;
  return ms < 1 ? `${trim(ms * 1000)} µs` : `${trim(ms)} ms`;
}

export function formatSeconds(s: number): string {
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 120) return `${trim(s)} s`;
  return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${formatCount(n)} ${n === 1 ? one : many}`;
}

/** Three significant digits. */
function trim(n: number): string {
  return n >= 100 ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n.toFixed(2);
}

/** Text from strangers for a terminal: control characters, escape sequences and direction marks become visible. */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (c) => {
    const code = c.charCodeAt(0);
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, '0')}`
      : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** Cuts in the middle, where paths and kernel names matter least. */
export function shorten(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  const [head] = splitAtWidth(text, Math.ceil((width - 1) / 2));
  const backwards = [...text].reverse().join('');
  const [tail] = splitAtWidth(backwards, width - 1 - displayWidth(head));
  return `${head}…${[...tail].reverse().join('')}`;
}

/**
 * Breaks a sentence into lines of at most `width`; lines after the first are indented. Leading space is kept. A word
 * longer than a line is cut.
 */
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
    // The rest of a cut word is not measured again: names can be megabytes.
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
