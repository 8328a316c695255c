/**
 * rocm-smi's JSON as the CSV that nvidia-smi's query prints, so that one reader reads both. Names of fields differ between
 * versions of ROCm: they are found by what they contain. Null: not such JSON.
 */
export function rocmAsQuery(text: string): string | null {
  const cards = cardsOf(text);
  if (cards === null) return null;
  return cards
    .map(([index, card]) => `${index}, ${COLUMNS.map(({ of }) => figure(card, of)).join(', ')}\n`)
    .join('');
}

const COLUMNS = [
  { name: 'utilization.gpu [%]', of: /^gpu use/i },
  { name: 'clocks.current.sm [MHz]', of: /^sclk clock speed/i },
  { name: 'power.draw [W]', of: /(?:average|current) .*power/i },
  { name: 'power.limit [W]', of: /^max graphics package power/i },
  { name: 'temperature.gpu', of: /^temperature .*(?:edge|junction)/i },
] as const;

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
function figure(card: Readonly<Record<string, unknown>>, name: RegExp): string {
  const value = Object.entries(card).find(([key]) => name.test(key))?.[1];
  return /\d+(?:\.\d+)?/.exec(String(value ?? ''))?.[0] ?? '[N/A]';
}
