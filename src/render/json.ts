import { printableJson } from '../base/printable.js';

/** A report as JSON that is safe to show on a terminal. Integers that a double cannot hold are written as text. */
export function renderJson(report: unknown): string {
  const replacer = (_key: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value);
  return `${printableJson(JSON.stringify(report, replacer, 2))}\n`;
}
