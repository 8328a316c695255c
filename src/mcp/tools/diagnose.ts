import * as z from 'zod';
import { InputError } from '../../base/input-error.js';
import { diagnose } from '../../library/diagnose.js';
import { chosenRules } from '../../library/rules.js';
import type { Finding, Report, RuleInfo } from '../../library/vocabulary.js';
import { briefDiagnose } from '../../render/brief/diagnose.js';
import { noFix } from '../../render/step-time.js';
import { renderRule } from '../../render/terminal/rules.js';
import {
  type Answer,
  allowedPaths,
  type Call,
  PATHS,
  SELECTION,
  type Selected,
  selectionOf,
  tool,
} from '../kit/tool.js';

export const diagnoseTool = tool({
  name: 'diagnose',
  title: 'Why is training slow?',
  description:
    'Reads PyTorch profiler traces and event logs, and answers why training is slow: the bottleneck with its evidence, the step time and where it goes, the fixes in the order to try them with the gain of each, the late rank and its cause. Start here. The answer has an id for `findings`.',
  input: { ...PATHS, ...SELECTION },
  call: async ({ paths, ...selected }, call) => diagnosed(await allowedPaths(paths, call), selected, call),
});

/** Of paths that the caller has checked. */
export async function diagnosed(
  paths: readonly string[],
  selected: Selected,
  { progress, reports }: Call,
): Promise<Answer> {
  const selection = selectionOf(selected);
  const report = await diagnose(paths, { ...selection, progress });
  const id = reports.keep({ paths, ...selection }, report);
  const more =
    report.findings.length > 0
      ? `report id: ${id} (\`findings\` with this id and the id of a fix shows it in full)`
      : `report id: ${id}`;
  return { text: `${briefDiagnose(report)}${more}`, report: { report_id: id, ...report } };
}

export const findingsTool = tool({
  name: 'findings',
  title: 'One fix in full',
  description:
    'A finding of a report in full: all of its evidence with ranks, steps and times, the code of the fix, its gain, cost and risk, how to check that training is still right, and the rule behind it. Without `finding`: a list of all.',
  input: {
    report: z.string().max(40).optional().describe('id of a report, from `diagnose`'),
    paths: PATHS.paths.optional().describe('instead of a report: what to diagnose'),
    finding: z.string().max(100).optional().describe('its id, or its number in the report'),
  },
  call: async ({ report: id, paths, finding }, call) => {
    const report = await reportOf(id, paths, call);
    if (finding === undefined) return listed(report);
    const found = report.findings.find((f, i) => f.id === finding || String(i + 1) === finding);
    if (!found) throw noFinding(report, finding);
    const number = report.findings.indexOf(found) + 1;
    const rules = rulesOf(found);
    return { text: inFull(found, number, report, rules), report: { number, finding: found, rules } };
  },
});

async function reportOf(
  id: string | undefined,
  paths: readonly string[] | undefined,
  call: Call,
): Promise<Report> {
  if (id !== undefined) return call.reports.get(id);
  if (!paths) throw new InputError('name a report (the id that diagnose gives) or paths');
  return diagnose(await allowedPaths(paths, call), { progress: call.progress });
}

/** A finding has the id of its rule, or only a number that several rules share. */
function rulesOf({ id, rule }: Finding): readonly RuleInfo[] {
  const all = chosenRules();
  const same = all.filter((r) => r.id === id);
  return same.length > 0 ? same : all.filter((r) => r.alias === rule || r.id === rule);
}

function noFinding({ findings }: Report, finding: string): InputError {
  const ids = findings.map((f) => f.id).join(', ');
  return new InputError(
    `the report has no finding ${finding}. ${ids === '' ? 'It has none at all.' : `It has: ${ids}`}`,
  );
}

function listed(report: Report): Answer {
  const { findings } = report;
  const rows = findings.map(({ id, title, rule, speedup, cost }, i) => {
    const gain = speedup === null ? 'gain unknown' : `×${speedup.low} to ×${speedup.high}`;
    return `${i + 1}. [${id}] ${title} (${rule}; ${cost}, ${gain})`;
  });
  return { text: rows.join('\n') || noFix(report), report: { findings } };
}

function inFull(finding: Finding, number: number, report: Report, rules: readonly RuleInfo[]): string {
  const one = briefDiagnose({ ...report, findings: [finding] });
  const from = one.indexOf('\n1. [');
  const to = one.lastIndexOf('\n', one.length - 2);
  const shown = one.slice(from + 1, Math.max(from + 1, to));
  return [
    shown.replace(/^1\./, `${number}.`),
    ...finding.evidence.slice(2).map((e) => `   evidence: ${e.text}`),
    ...rules.flatMap((rule) => ['', renderRule(rule, { color: false, columns: 100 })]),
  ].join('\n');
}
