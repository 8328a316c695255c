import { fixNamed, type TriedFix } from './fixes.js';
import type { RankResult } from './rank-result.js';

const CALLS = { transformers: 'TrainingArguments', lightning: 'Trainer' } as const;

/** The lines that make these fixes for good, in the words of the framework whose loop made the steps. */
export function pasteLines(
  ids: readonly string[],
  framework: RankResult['framework'],
  applied: RankResult['applied'],
): readonly string[] {
  const fixes = ids.flatMap((id) => fixNamed(id) ?? []);
  const lines: string[] = [];
  const options: string[] = [];
  for (const fix of fixes) {
    const own = framework === 'plain' ? undefined : fix.paste[framework];
    for (const line of own ?? fix.paste.plain) (own ? options : lines).push(withNumber(line, fix, applied));
  }
  if (framework === 'plain' || options.length === 0) return lines;
  return [`${CALLS[framework]}(…, ${options.join(', ')})`, ...lines];
}

/** Texts of applied fixes end in the new value: `num_workers 0 → 12`. */
function withNumber(line: string, { id }: TriedFix, applied: RankResult['applied']): string {
  const used = applied[id]?.map((text) => /→ (\d+)/.exec(text)?.[1]).find((number) => number !== undefined);
  return used === undefined ? line : line.replace(/\bN\b/g, used);
}
