import { messageOf } from '../base/input-error.js';
import type { Probe } from '../machine/probe.js';
import { inOneLine, use } from '../remedies/remedies.js';
import { type Check, fail, type Outcome, pass, type Status, skip, warn } from './check.js';
import { ENVIRONMENT_CHECKS, TORCH_CHECKS } from './environment-checks.js';
import { GPU_CHECKS } from './gpu-checks.js';
import { HOST_CHECKS } from './host-checks.js';

const NETWORK =
  /^(?:nfs\d?|cifs|smb\w*|ceph|lustre|gpfs|beegfs|glusterfs|9p|afs|fuse\.(?!.*(?:ntfs|exfat|overlay)).*|fuse|wekafs|s3fs|gcsfuse)$/;
/** Milliseconds a small file. An NVMe disk takes about 0.1, a rotating disk 5 to 10, the zoo's slow store 4 (it is data-bound). */
const SLOW_MS = 2;
const VERY_SLOW_MS = 10;

const DATA_CHECKS: readonly Check[] = [
  {
    id: 'data-disk',
    title: 'Data directory',
    async run(probe) {
      if (probe.data === null) return skip('name it with --data');
      const size = await probe.sizeOf(probe.data);
      if (size === null)
        return fail(`${probe.data} cannot be read`, 'Name the directory with the training data.');
      return diskOutcome(probe, probe.data);
    },
  },
  {
    id: 'data-reads',
    title: 'Small reads',
    async run(probe) {
      if (probe.data === null) return skip('name the directory with --data');
      const reads = await probe.smallReads(probe.data);
      if (reads === null) return skip(`no files in ${probe.data}`);
      const value = `${reads.medianMs.toFixed(2)} ms per file, ${reads.filesPerSecond.toFixed(0)} files/s one by one (${reads.files} files; cached ones are faster)`;
      const advice = inOneLine(use('staged-data', { orWorkers: true }));
      if (reads.medianMs >= VERY_SLOW_MS) return fail(value, advice);
      return reads.medianMs >= SLOW_MS ? warn(value, advice) : pass(value);
    },
  },
];

function diskOutcome({ files }: Probe, data: string): Outcome {
  const mount = mountOf(files.read('/proc/self/mountinfo') ?? '', data);
  if (mount === null) return skip('its file system is not known');
  const value = `${mount.type} on ${mount.source}`;
  if (NETWORK.test(mount.type))
    return warn(
      `${value}: a network file system`,
      'Copy the working set to a local disk before training, or measure it: Small reads, below.',
    );
  // A virtual disk says that it rotates, whatever is behind it.
  if (/^\/dev\/x?vd/.test(mount.source)) return pass(`${value}, a virtual disk`);
  const block = `/sys/dev/block/${mount.device}`;
  // A partition has no queue of its own; its disk, one folder up, has.
  const rotates = (
    files.read(`${block}/queue/rotational`) ?? files.read(`${block}/../queue/rotational`)
  )?.trim();
  return rotates === '1'
    ? warn(
        `${value}: a rotating disk`,
        'Random reads cost about 10 ms each there. Small reads, below, measures it.',
      )
    : pass(value);
}

interface Mount {
  readonly device: string;
  readonly type: string;
  readonly source: string;
}

/** The mount with the longest path above `path`. */
export function mountOf(mountinfo: string, path: string): Mount | null {
  let best: { readonly at: string; readonly mount: Mount } | null = null;
  for (const line of mountinfo.split('\n')) {
    const [, device, at, type, source] = /^\d+ \d+ (\d+:\d+) \S+ (\S+) .* - (\S+) (\S+)/.exec(line) ?? [];
    if (at === undefined) continue;
    const isAbove = at === '/' || path === at || path.startsWith(`${at}/`);
    // Of mounts in one place the last one is seen.
    if (isAbove && (best === null || at.length >= best.at.length))
      best = { at, mount: { device: device!, type: type!, source: source! } };
  }
  return best?.mount ?? null;
}

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
