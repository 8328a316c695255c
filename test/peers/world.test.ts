import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import type { Report } from '../../src/report/report.js';
import { describeWithShared, SHARED } from '../helpers/shared.js';

/** What an expert would accept for a recording that somebody else published. */
interface Expected {
  readonly id: string;
  readonly file: string;
  /** Bottlenecks, or `refuse`. */
  readonly acceptable: readonly string[];
  readonly must_not_say?: readonly string[];
  readonly max_confidence?: number;
}

/** Why the answer is not acceptable. Empty: it is. */
function faultsOf(report: Report, { acceptable, must_not_say = [], max_confidence = 1 }: Expected): string[] {
  const { bottleneck, confidence } = report.verdict;
  const text = JSON.stringify([report.verdict, report.findings]).toLowerCase();
  const shares = report.findings.flatMap((f) => f.evidence.flatMap((e) => e.text.match(/\d+(?=%)/g) ?? []));
  return [
    ...(acceptable.includes(bottleneck) ? [] : [`${bottleneck} is none of ${acceptable}`]),
    ...(confidence > max_confidence ? [`confidence ${confidence} is above ${max_confidence}`] : []),
    ...must_not_say.filter((words) => text.includes(words.toLowerCase())).map((words) => `says "${words}"`),
    ...shares.filter((percent) => Number(percent) > 100).map((percent) => `${percent}% of a step`),
  ];
}

describeWithShared('world', 'recordings from elsewhere', () => {
  const folder = join(SHARED, 'world');
  const all = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8')) as Expected[];

  it.each(all.map((e) => [e.file, e] as const))(
    'the answer to %s is one that an expert accepts',
    async (file, expected) => {
      const report = await diagnose(join(folder, file)).catch(() => null);
      if (report) expect(faultsOf(report, expected)).toEqual([]);
      else expect(expected.acceptable).toContain('refuse');
    },
  );
});
