/** Columns that a text takes on a terminal: CJK and emoji take two, combining marks none. */

const MARKS = /[\p{Mn}\p{Me}\p{Cf}]/u;
// East Asian Wide and Fullwidth blocks (UAX #11), joined if only unassigned characters are between them.
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18fff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const PLAIN = /^[\x20-\x7e]*$/;

export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const char of text) width += charWidth(char);
  return width;
}

/** Splits before the character that would exceed `width`. The head has at least one character. */
function splitAtWidth(text: string, width: number): [head: string, tail: string] {
  let used = 0;
  let at = 0;
  for (const char of text) {
    used += charWidth(char);
    if (used > width && at > 0) break;
    at += char.length;
  }
  return [text.slice(0, at), text.slice(at)];
}

export function padToWidth(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}

function charWidth(char: string): number {
  if (PLAIN.test(char)) return 1;
  return MARKS.test(char) ? 0 : WIDE.test(char) ? 2 : 1;
}

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
