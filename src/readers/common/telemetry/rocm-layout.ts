import { asObject, type JsonObject, parseObject } from '../json-object.js';
import { type Cell, figure, index, name, pci, type Sample, uuid } from './sample.js';

/** What rocm-smi prints with `--json`: an object per call, on one line, with `card0`, `card1`, … in it. */
export const looksLikeCards = (line: string): boolean =>
  /^\{"card\d+"\s*:\s*\{|^\{"system"\s*:\s*\{.*"card\d+"\s*:\s*\{/.test(line) &&
  /"[^"]+\((?:%|W|C)\)"\s*:|clock speed/.test(line);

/** `(1269Mhz)` is `1269MHz`. */
const measured =
  (cell: Cell): Cell =>
  (sample, text) =>
    cell(sample, text.replace(/[()]/g, '').replace(/mhz/i, 'MHz'));

/**
 * What the versions of rocm-smi call a figure. The first name that is there counts: of two temperatures, that of the junction,
 * the hottest place of the chip, because it is what throttles it.
 */
const FIGURES = {
  utilization: [/^GPU use \(%\)$/],
  memoryUtilization: [/^GPU memory use \(%\)$/i, /^GPU Memory Read\/Write Activity \(%\)$/],
  smClock: [/^sclk clock speed:?$/],
  memoryClock: [/^mclk clock speed:?$/],
  power: [/^Average Graphics Package Power \(W\)$/, /^Current Socket Graphics Package Power \(W\)$/],
  powerLimit: [/^Max Graphics Package Power \(W\)$/],
  temperature: [/^Temperature \(Sensor junction\) \(C\)$/, /^Temperature \(Sensor edge\) \(C\)$/],
} as const;

const KEYS: readonly (readonly [key: RegExp, Cell])[] = [
  ...Object.entries(FIGURES).flatMap(([field, keys]) =>
    keys.map((key) => [key, measured(figure(field as keyof typeof FIGURES))] as const),
  ),
  [/^Card series$/i, name],
  [/^Device Name$/, name],
  [/^PCI Bus$/, pci],
  [/^Unique ID$/, (sample, text) => uuid(sample, text.replace(/^0x/i, ''))],
];

/** `-a` prints about two hundred. */
const MAX_KEYS = 1024;

/** The cards of a line, by number; null in the place of one that is no object. Null: the line is not JSON. */
export function cardsOf(
  line: string,
): readonly (readonly [number: string, card: JsonObject | null])[] | null {
  const cards = parseObject(line);
  return (
    cards &&
    Object.entries(cards).flatMap(([key, value]) => {
      const number = /^card(\d{1,4})$/.exec(key)?.[1];
      return number === undefined ? [] : [[number, asObject(value)] as const];
    })
  );
}

export function readCard(sample: Sample, number: string, card: JsonObject): void {
  index(sample, number);
  const keys = Object.keys(card).slice(0, MAX_KEYS);
  for (const [pattern, cell] of KEYS) {
    const key = keys.find((k) => pattern.test(k));
    const value = key === undefined ? null : card[key];
    if (typeof value === 'string' || typeof value === 'number') cell(sample, `${value}`.trim());
    else if (value !== null) sample.odd = true;
  }
}
