import pc from 'picocolors';

type Target = Pick<NodeJS.WriteStream, 'isTTY' | 'columns'>;
type Variables = Readonly<Record<string, string | undefined>>;

/** FORCE_COLOR asks for colors in a pipe too. NO_COLOR and TERM=dumb turn them off. */
export const showsColor = ({ isTTY }: Target, env: Variables = process.env): boolean =>
  pc.isColorSupported && (isTTY === true || Boolean(env.FORCE_COLOR));

/** Undefined: unknown. A terminal without a size says 0; COLUMNS may know better, in a pipe too. */
export function columnsOf({ columns }: Target, env: Variables = process.env): number | undefined {
  const given = /^\d{1,4}$/.test(env.COLUMNS ?? '') ? Number(env.COLUMNS) : 0;
  return columns || given || undefined;
}
