import { namedRanks } from '../../base/rank-ranges.js';
import { formatCount, formatTime } from '../../base/units.js';
import { filesRead } from '../../report/files-read.js';
import type { Report } from '../../report/report.js';
import type { Finding } from '../../rules/kit/finding.js';
import { moneyLines, savedPerDay } from '../money.js';
import { gain, jobSplit, rankCount, stepLabel, stepSource, stepSplit } from '../step-time.js';
import { briefText, codeOf, firstOf } from './lines.js';

/** Findings with evidence and code; the others get a line each. */
const IN_FULL = 3;
const MOST_IN_SHORT = 8;
const MOST_EVIDENCE = 2;
const MOST_CODE = 5;
const MOST_LATE = 4;
const MOST_PROBLEMS = 3;
const MOST_INCIDENTS = 3;

/** The report as a few lines for a chat: the answer, the step, the fixes in order with their ids. */
export function briefDiagnose(report: Report): string {
  const { verdict, findings } = report;
  const { label, headline, confidence, details, second, next } = verdict;
  return briefText([
    `${label}: ${headline} [${verdict.bottleneck}/${verdict.cause}, confidence ${confidence}]`,
    ...details,
    ...(second === null ? [] : [`close second: ${second}`]),
    ...stepLines(report),
    ...(next.length > 0 ? [verdict.bottleneck === 'unknown' ? 'To get an answer:' : 'Do next:'] : []),
    ...next.map((text) => `- ${text}`),
    ...hardwareLines(report),
    ...(findings.length > 0 ? ['Fixes, in order:'] : []),
    ...findings.slice(0, IN_FULL).flatMap((finding, i) => inFull(finding, i + 1, report)),
    ...firstOf(findings.slice(IN_FULL), MOST_IN_SHORT, (finding, i) =>
      titleOf(finding, IN_FULL + i + 1, report),
    ),
    ...lateLines(report),
    ...incidentLines(report),
    ...basisLines(report),
  ]);
}

/** How far from the hardware, where the GPU is the limit. */
function hardwareLines({ verdict, hardware }: Report): string[] {
  if (verdict.bottleneck !== 'gpu' || !hardware) return [];
  return [`hardware: ${hardware.text.join('. ')}.`, ...hardware.kernels.map(({ text }) => `- ${text}`)];
}

function stepLines(report: Report): string[] {
  const { step, time, job } = report;
  const source = stepSource(report);
  const split = step.ms === null ? 'no complete step was recorded' : stepSplit(step.ms, time, step.parts);
  const asRecorded =
    step.profiled_ms !== null && step.profiled_time !== null
      ? [`as recorded: ${stepSplit(step.profiled_ms, step.profiled_time)}`]
      : [];
  const whole = jobSplit(job);
  return [
    `${stepLabel(step)}: ${split}${source && ` (${source})`}`,
    ...asRecorded,
    ...(step.iteration ? [`a step here is one iteration: ${step.iteration.text}`] : []),
    ...(whole === '' ? [] : [`job: ${whole}`]),
    ...moneyLines(report),
  ];
}

function titleOf(finding: Finding, number: number, report: Report): string {
  const { id, rule, title, cost, addresses, speedup, ranks } = finding;
  const price =
    addresses === null
      ? cost
      : `${cost}, ${[gain(speedup, report.step.ms), savedPerDay(report, id)].filter(Boolean).join(', ')}`;
  const some = ranks.length > 0 && ranks.length < rankCount(report) ? ` on ${namedRanks(ranks)}` : '';
  return `${number}. [${id}] ${title}${some} (${rule}; ${price})`;
}

function inFull(finding: Finding, number: number, report: Report): string[] {
  const { evidence, fix, further, risk } = finding;
  return [
    titleOf(finding, number, report),
    ...evidence.slice(0, MOST_EVIDENCE).map((e) => `   evidence: ${e.text}`),
    ...codeOf(fix.code, MOST_CODE),
    ...(fix.text === '' ? [] : [`   ${fix.text}`]),
    ...(further ? [`   a step further: ${further.title} (${gain(further.speedup, report.step.ms)})`] : []),
    ...(further ? codeOf(further.fix.code, MOST_CODE) : []),
    ...(risk === 'none' ? [] : [`   risk: ${risk}`]),
  ];
}

/** Ranks that the others wait for, unless the verdict names them. */
function lateLines(report: Report): string[] {
  const { ranks, stragglers, verdict } = report;
  if (rankCount(report) < 2) return [];
  const late = stragglers.filter((s) => !verdict.details.includes(s.sentence));
  return [
    ...(stragglers.length === 0 ? [`${formatCount(rankCount(report), 'rank')} measured, none is late`] : []),
    ...firstOf(
      late,
      MOST_LATE,
      (s) =>
        `late: ${s.sentence} [${namedRanks(s.ranks)}, ${s.pattern}, ${s.cause}, ${formatTime(s.cost_ms)} per step]`,
    ),
    ...(ranks.length > 0 && report.many_ranks !== null
      ? [`${ranks.length} of them are in the report (--all: every rank)`]
      : []),
  ];
}

/** Open alarms first. */
function incidentLines({ incidents }: Report): string[] {
  const alarms = incidents.filter((i) => i.alarm);
  const sorted = alarms.toReversed().sort((a, b) => Number(b.state === 'open') - Number(a.state === 'open'));
  return firstOf(
    sorted,
    MOST_INCIDENTS,
    ({ state, sentence, cause, fix }) =>
      `changed during the run (${state}): ${sentence} [${cause}]${fix === null ? '' : ` ${fix}`}`,
  );
}

function basisLines(report: Report): string[] {
  const { health, runs } = report;
  const problems = health.problems.filter((p) => p.severity !== 'note');
  const analyzed = runs.find((run) => run.analyzed);
  return [
    `${filesRead(report)} read, health ${health.grade}`,
    ...firstOf(problems, MOST_PROBLEMS, (p) => `problem [${p.code}]: ${p.message} → ${p.consequence}`),
    ...(runs.length > 1 && analyzed ? [`${runs.length} runs are here; this is ${analyzed.id} (--run)`] : []),
  ];
}
