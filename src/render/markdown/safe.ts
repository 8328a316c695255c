import { printable } from '../../base/printable.js';

/**
 * Names come from traces, so they must stay text: no tags, no formatting, no links, and on GitHub no mentions and no references
 * to issues. GitHub looks for mentions after it has resolved entities, so an invisible space follows the mark.
 */
export const plain = (text: string): string =>
  escaped(text).replace(/&#(?:64|35);/g, (mark) => `${mark}&#8203;`);

/** As code, in which GitHub looks for neither. Not in backticks: a name may hold them. */
export const code = (text: string): string => `<code>${escaped(text)}</code>`;

function escaped(text: string): string {
  return printable(text.replace(/\s+/g, ' '))
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/[\\`*_[\]|#@~!]|:(?=\/\/)|(?<=\bwww)\./gi, (mark) => `&#${mark.charCodeAt(0)};`);
}
