/**
 * What a text from a file may do to a terminal: control characters and escape sequences act on it, direction marks reorder
 * what it shows, line separators forge lines.
 */
const ACTIVE = '\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069';
const EACH = new RegExp(`[${ACTIVE}]`, 'g');

/** Makes such characters visible: `\x1b`, `\u202e`. A line break becomes `\x0a`. */
export const printable = (text: string): string => text.replace(EACH, visible);

function visible(char: string): string {
  const code = char.charCodeAt(0);
  const hex = code.toString(16);
  return code < 0x100 ? `\\x${hex.padStart(2, '0')}` : `\\u${hex.padStart(4, '0')}`;
}

/** The same for JSON text, which stays valid and keeps its values. Line breaks between its tokens stay. */
export const printableJson = (json: string): string =>
  json.replace(EACH, (char) =>
    char === '\n' ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** A word as a shell needs it. */
export const quoted = (word: string) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

export const quotedCommand = (words: readonly string[]) => words.map(quoted).join(' ');
