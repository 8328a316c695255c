type Variables = Readonly<Record<string, string | undefined>>;

/** By the first of the variables that is set, as in C libraries. Containers set none of them, and show UTF-8. */
export function showsUnicode(env: Variables = process.env): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG;
  return !locale || /utf-?8/i.test(locale);
}

/** What our own texts use. None becomes a quotation mark or a backslash: JSON stays JSON. */
const ASCII: Readonly<Record<string, string>> = {
  '–': '-',
  '—': '-',
  '−': '-',
  '’': "'",
  '“': "'",
  '”': "'",
  '…': '...',
  µ: 'u',
  '×': 'x',
  '÷': '/',
  '·': '|',
  '→': '->',
  '°': ' deg ',
  '≥': '>=',
  '≤': '<=',
  '∞': 'inf',
  '²': '2',
  '✗': 'x',
};
const OWN = new RegExp(`[${Object.keys(ASCII).join('')}]`, 'g');
/** Heights of bars, in order. */
const BARS = /[▁-█]/g;
const barHeight = (bar: string) => String(bar.charCodeAt(0) - '▁'.charCodeAt(0) + 1);

/** For a terminal that is not UTF-8. Names of files and kernels stay as they are: other characters would name others. */
export const asAscii = (text: string): string =>
  text.replace(OWN, (found) => ASCII[found]!).replace(BARS, barHeight);
