/** A word as a shell needs it. */
export const quoted = (word: string) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

export const quotedCommand = (words: readonly string[]) => words.map(quoted).join(' ');
