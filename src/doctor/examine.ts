import { messageOf } from '../base/input-error.js';
import type { Probe } from '../machine/probe.js';
import { type Check, type Outcome, type Status, skip } from './check.js';
import { DATA_CHECKS } from './data-checks.js';
import { ENVIRONMENT_CHECKS } from './environment-checks.js';
import { GPU_CHECKS } from './gpu-checks.js';
import { HOST_CHECKS } from './host-checks.js';
import { TORCH_CHECKS } from './torch-checks.js';

/** All checks, in the order they are shown. */
const CHECKS: readonly Check[] = [
  ...GPU_CHECKS,
  ...TORCH_CHECKS,
  ...HOST_CHECKS,
  ...DATA_CHECKS,
  ...ENVIRONMENT_CHECKS,
];

/** What `whyslow doctor --json` prints. */
export interface DoctorReport {
  readonly schema: 'whyslow/doctor/1';
  readonly checks: readonly CheckLine[];
  readonly counts: Readonly<Record<Status, number>>;
}

export interface CheckLine extends Outcome {
  readonly id: string;
  readonly title: string;
}

/** Runs all checks, at once: each mostly waits for a program or a disk. */
export async function examine(probe: Probe, checks: readonly Check[] = CHECKS): Promise<DoctorReport> {
  const lines = await Promise.all(
    checks.map(async (check): Promise<CheckLine> => {
      const found = await check
        .run(probe)
        .catch((error: unknown) => skip(`could not be checked: ${messageOf(error)}`));
      return {
        id: check.id,
        title: check.title,
        status: found.status,
        value: found.value,
        advice: found.advice,
      };
    }),
  );
  const count = (status: Status) => lines.filter((line) => line.status === status).length;
  return {
    schema: 'whyslow/doctor/1',
    checks: lines,
    counts: { pass: count('pass'), warn: count('warn'), fail: count('fail'), skip: count('skip') },
  };
}
