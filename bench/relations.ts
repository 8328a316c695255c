/**
 * Whether answers keep when a trace is changed in ways that must not matter: `node scripts/tool.mjs bench/relations.ts [--only NAME] DIR…`.
 * Every `DIR/*\/rank0.json.gz` or `.zst` is diagnosed as it is and changed. See bench/README.md.
 */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { diagnose } from '../src/library/diagnose.js';
import type { Report } from '../src/report/report.js';
import * as relations from '../test/helpers/relations.js';
import { Random } from '../test/helpers/simulate/random.js';

type Change = (file: relations.TraceFile) => relations.TraceFile;
const drawn = (seed: number) => {
  const random = new Random(seed, 0);
  return () => random.next();
};
const cold: Change = (file) => relations.withColdStart(file, drawn(17));
const CHANGES: Readonly<Record<string, Change>> = {
  'no marks': relations.withoutMarks,
  'cold start': cold,
  'cold start, no marks': (file) => relations.withoutMarks(cold(file)),
  'no pin calls': relations.withoutPins,
  shifted: (file) => relations.shifted(file, 7e6),
  shuffled: (file) => relations.shuffled(file, drawn(5)),
  'other ids': relations.renamed,
  'times as text': relations.withTimesAsText,
  'no Python frames': (file) => relations.withoutCategories(file, ['python_function']),
};
const STEP_WITHIN = 0.15;

const args = process.argv.slice(2);
const only = args[0] === '--only' ? args.splice(0, 2)[1]! : '';
const folder = mkdtempSync(join(tmpdir(), 'whyslow-relations-'));
const firstFixes = ({ findings }: Report) =>
  findings
    .filter((f) => f.addresses !== null)
    .slice(0, 2)
    .map((f) => f.id);
const shown = (r: Report) =>
  `${r.verdict.bottleneck} ${r.verdict.confidence} ${r.step.ms?.toFixed(2)} ms [${firstFixes(r)}]`;

const totals = new Map<string, { all: number; verdict: number; fixes: number; step: number }>();
try {
  for (const path of args.flatMap(tracesIn)) {
    const file = relations.readTraceFile(path);
    const usual = await diagnose(path, { jobs: 1 });
    for (const [name, change] of Object.entries(CHANGES).filter(([n]) => n.includes(only))) {
      const copy = join(folder, 'rank0.json');
      writeFileSync(copy, JSON.stringify(change(file)));
      const changed = await diagnose(copy, { jobs: 1 });
      const verdict = changed.verdict.bottleneck === usual.verdict.bottleneck;
      const fixes = firstFixes(changed).join() === firstFixes(usual).join();
      const step = Math.abs(changed.step.ms! / usual.step.ms! - 1) <= STEP_WITHIN;
      const sum = totals.get(name) ?? { all: 0, verdict: 0, fixes: 0, step: 0 };
      totals.set(name, {
        all: sum.all + 1,
        verdict: sum.verdict + Number(verdict),
        fixes: sum.fixes + Number(fixes),
        step: sum.step + Number(step),
      });
      if (!verdict || !fixes || !step)
        console.log(
          `${name}: ${path}\n    ${shown(usual)}\n    ${shown(changed)}\n    ${changed.verdict.sentence}`,
        );
    }
  }
} finally {
  rmSync(folder, { recursive: true });
}
console.log(
  '\n| change | traces | same verdict | same first two fixes | step within 15% |\n|---|---|---|---|---|',
);
for (const [name, t] of totals) console.log(`| ${name} | ${t.all} | ${t.verdict} | ${t.fixes} | ${t.step} |`);

function tracesIn(directory: string): string[] {
  return readdirSync(directory).flatMap((name) =>
    ['rank0.json.gz', 'rank0.json.zst', 'rank0.json']
      .map((file) => join(directory, name, file))
      .filter(existsSync)
      .slice(0, 1),
  );
}
