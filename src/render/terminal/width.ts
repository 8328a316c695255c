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
export function splitAtWidth(text: string, width: number): [head: string, tail: string] {
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
