import { pasteLines as linesOf, TRIALS } from '../remedies/remedies.js';
import type { RankResult } from './rank-result.js';

/** The lines that make these fixes permanent, in the words of the framework whose loop made the steps. */
export function pasteLines(
  ids: readonly string[],
  framework: string,
  applied: RankResult['applied'],
): readonly string[] {
  const tried = TRIALS.filter(({ id }) => ids.includes(id));
  return linesOf(
    tried.map(({ id, paste }) => paste(numberUsed(applied[id]))),
    framework,
  );
}

/** Texts of applied fixes end in the new value: `num_workers 0 → 12`. */
function numberUsed(texts: readonly string[] | undefined): number | 'N' {
  const used = texts?.map((text) => /→ (\d+)/.exec(text)?.[1]).find((number) => number !== undefined);
  return used === undefined ? 'N' : Number(used);
}
