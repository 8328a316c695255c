/** A report as JSON. Integers that a double cannot hold are written as text. */
export function renderJson(report: unknown): string {
  const replacer = (_key: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value);
  return `${JSON.stringify(report, replacer, 2)}\n`;
}
