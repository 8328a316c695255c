import { ROCM_NAMES, type RocmFigure } from '../model/telemetry.js';

/** rocm-smi's JSON as the CSV that nvidia-smi's query prints, so that one reader reads both. Null: not such JSON. */
export function rocmAsQuery(text: string): string | null {
  const cards = cardsOf(text);
  if (cards === null) return null;
  return cards
    .map(([index, card]) => `${index}, ${COLUMNS.map(({ of }) => figure(card, of)).join(', ')}\n`)
    .join('');
}

const COLUMNS: readonly { readonly name: string; readonly of: RocmFigure }[] = [
  { name: 'utilization.gpu [%]', of: 'utilization' },
  { name: 'clocks.current.sm [MHz]', of: 'smClock' },
  { name: 'power.draw [W]', of: 'power' },
  { name: 'power.limit [W]', of: 'powerLimit' },
  { name: 'temperature.gpu', of: 'temperature' },
];

export const ROCM_HEADER = `index, ${COLUMNS.map(({ name }) => name).join(', ')}\n`;
export const ROCM_ARGUMENTS = [
  '--showuse',
  '--showclocks',
  '--showpower',
  '--showmaxpower',
  '--showtemp',
  '--json',
];

/** `card0`, `card1`, … with their fields. */
function cardsOf(text: string): [number, Readonly<Record<string, unknown>>][] | null {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null) return null;
    const cards = Object.entries(parsed).flatMap(([name, card]: [string, unknown]) => {
      const index = /^card(\d{1,3})$/.exec(name)?.[1];
      const isCard = index !== undefined && typeof card === 'object' && card !== null;
      return isCard
        ? [[Number(index), card as Record<string, unknown>] as [number, Record<string, unknown>]]
        : [];
    });
    return cards.length > 0 ? cards : null;
  } catch {
    return null;
  }
}

/** `"(1500Mhz)"`, `"41.0"`, `300`. */
function figure(card: Readonly<Record<string, unknown>>, of: RocmFigure): string {
  const keys = Object.keys(card);
  const key = ROCM_NAMES[of].flatMap((name) => keys.find((k) => name.test(k)) ?? [])[0];
  return /\d+(?:\.\d+)?/.exec(String((key && card[key]) ?? ''))?.[0] ?? '[N/A]';
}
