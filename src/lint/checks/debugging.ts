import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check, Fault } from '../kit/finding.js';
import { type Block, type Call, functionAround, isInside } from '../python/script.js';
import type { Training } from '../training/training.js';

const ANOMALY = /(?:^|\.)autograd\.(?:set_detect_anomaly|detect_anomaly|anomaly_mode\.\w+)$/;
const GRADCHECK = /(?:^|\.)autograd\.(?:gradcheck\.)?grad(?:grad)?check$/;
const PROFILER = /^torch\.(?:profiler\.profile|autograd\.profiler\.(?:profile|emit_nvtx))$/;
/** A loop of so few steps is there to be profiled. */
const SHORT_LOOP = 100;

/** Tools for finding errors that were left on. */
export const checkDebugging: Check = (training) => [
  ...anomaly(training),
  ...gradcheck(training),
  ...blockingLaunches(training),
  ...profilers(training),
];

function anomaly({ calls, values, regions }: Training): Fault[] {
  return calls(ANOMALY)
    .filter(({ positional, keywords }) => {
      const mode = positional[0] ?? keywords.get('mode');
      return mode === undefined || values.of(mode) === true;
    })
    .filter((call) => regions.isUnconditional(call.node, call.block) && !isTest(call))
    .map((call) => ({
      id: 'anomaly-detection',
      at: call.node,
      message:
        'Anomaly detection is on: every backward operator is checked for NaN, and the host waits for each check.',
      fix: inOneLine(use('anomaly-off')),
    }));
}

function gradcheck({ calls, regions }: Training): Fault[] {
  return calls(GRADCHECK)
    .filter((call) => regions.isPerStep(call.node, call.block))
    .map((call) => ({
      id: 'anomaly-detection',
      at: call.node,
      message: 'gradcheck in every step: it runs the function twice for every element of its input.',
      fix: 'Move it to a test.',
    }));
}

function blockingLaunches({ values, regions, script, text }: Training): Fault[] {
  const set = script.assignments.filter((a) =>
    a.targets.some((t) => /environ\[["']CUDA_LAUNCH_BLOCKING["']\]$/.test(t)),
  );
  const faulty = set.filter(
    (a) => String(values.of(a.value) ?? '') === '1' && regions.isUnconditional(a.span, a.block),
  );
  return faulty.map((a) => ({
    id: 'anomaly-detection',
    at: a.span,
    message: `${text(a.span)}: the host waits for every kernel.`,
    fix: inOneLine(use('async-launches')),
  }));
}

/** A profiler without a schedule around the training loop records every step of it. */
function profilers(training: Training): Fault[] {
  const { calls, regions, values } = training;
  return calls(PROFILER)
    .filter((call) => !call.keywords.has('schedule') && !call.hasSpread)
    .filter((call) => {
      const enabled =
        call.keywords.get('enabled') ?? (call.name.includes('autograd') ? call.positional[0] : undefined);
      return enabled === undefined || values.of(enabled) === true;
    })
    .filter((call) => regions.isUnconditional(call.node, call.block) && wrapsTraining(call, training))
    .map((call) => ({
      id: 'heavy-profiler',
      at: call.node,
      message:
        'A profiler without a schedule around the training loop records every step: steps take longer and memory grows.',
      fix: inOneLine(use('profile-once')),
    }));
}

function wrapsTraining(call: Call, training: Training): boolean {
  const body = training.script.blocks.find(
    (b) => b.kind === 'with' && b.head !== null && isInside(call.node, b.head),
  );
  if (!body) return false;
  const loops = [...training.regions.loops].filter((loop) => isLong(loop, training));
  return loops.some((loop) => {
    if (isInside(loop.span, body.span)) return true;
    const owner = functionAround(loop);
    return owner !== null && training.regions.callsOf(owner).some((c) => isInside(c.node, body.span));
  });
}

/** Loops that stop after a few steps are meant to be profiled. */
function isLong(loop: Block, { text }: Training): boolean {
  if (/\bbreak\b/.test(text(loop.span))) return false;
  const [, count] = (loop.head && /^range\((\d+)\)$/.exec(text(loop.head))) || [];
  return count === undefined || Number(count) > SHORT_LOOP;
}

const isTest = (call: Call): boolean => /^test/.test(functionAround(call.block)?.name ?? '');
