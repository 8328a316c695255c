import { formatCount } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { CapturedLoader, CapturedRank } from '../../diagnosis/run-facts.js';
import { dropInputWaits } from '../../replay/edits.js';
import type { WorkerUse } from '../../telemetry/processes/worker-use.js';
import type { Finding } from './finding.js';
import { coresOf, type LoaderLimit, loaderCode, planWorkers, withoutDuplicates } from './loader.js';
import { priceFromLog, priceOf } from './price.js';
import type { Level, Levels, Price } from './rule.js';

/** What to do about workers that do not keep up. */
interface Advice {
  readonly fix: Finding['fix'];
  readonly price: Price | null;
  /** How many workers to use. Null: their number stays. */
  readonly workers: number | null;
}

/** What makes each worker faster. `pauses`: they sleep on a timer. */
function fasterWorkers(limit: LoaderLimit, hasGpu: boolean, pauses: boolean): Finding['fix'] {
  if (limit === 'io' && pauses)
    return {
      text: 'find the time.sleep in the dataset, its transforms or its store’s client (a retry, a rate limit): the workers do not read meanwhile',
      code: 'py-spy dump --pid <worker>      # where a worker sleeps',
    };
  if (limit === 'io')
    return {
      text: 'stage the data on local NVMe and pack small files into large shards: the workers wait for reads',
      code: '# webdataset or parquet shards on local NVMe',
    };
  return hasGpu
    ? {
        text: 'move decoding and augmentation to the GPU, or do them once beforehand',
        code: '# kornia / torchvision.transforms.v2 on the GPU, or decoded shards',
      }
    : { text: 'decode and transform once beforehand', code: '# decoded shards (webdataset, parquet, .npy)' };
}

function lighterBatches(hasGpu: boolean): Finding['fix'] {
  const less = 'Hand over fewer and smaller tensors: one per field and batch.';
  return {
    text: `The training thread spends the wait unpacking batches, and more workers do not change that. ${less}${hasGpu ? ' Convert to float on the GPU. pin_memory=True unpacks on a thread of its own.' : ''}`,
    code: hasGpu
      ? 'DataLoader(..., pin_memory=True)\nx = x.to(device, non_blocking=True).float()   # uint8 until here'
      : 'DataLoader(..., collate_fn=stack_fields)   # one tensor for each field',
  };
}

/** Added workers share caches and memory with those there are (zoo, FFT: 1.4 for each of 4, up to 1.75 for each of 12). */
const ADDED_COST: Levels = { low: 1.3, likely: 1.1, high: 1 };

/** Null: capture did not record what the workers do. */
export function adviceFor(
  view: RankView,
  captured: CapturedRank | undefined,
  limit: LoaderLimit,
  sampled: WorkerUse | null,
): Advice | null {
  const loader = captured?.loader;
  const hasGpu = view.facts.hasGpuWork;
  if (limit === 'handover') return { fix: lighterBatches(hasGpu), price: null, workers: null };
  const [now, cores] = [loader?.numWorkers ?? 0, coresOf(captured)];
  if (limit === 'unknown' || now === 0 || cores === null) return null;
  const exposed = view.time.idle_data;
  // While steps wait, all workers are busy, so one of them needs this long for a batch.
  const work = now * view.step.unprofiled;
  const { workers } = planWorkers(work, view.step.unprofiled - exposed, captured, now);
  const instead = fasterWorkers(limit, hasGpu, sleepsOnTimer(sampled));
  if (limit === 'io' && workers <= now) return moreThanCores(now, cores, loader, instead);
  if (limit === 'cores' || workers <= now) {
    const each = (captured?.cores?.ranks ?? 1) > 1 ? ' for each rank' : '';
    const full = `${formatCount(cores, 'core')}${each} and ${formatCount(now, 'worker')}: more workers would not help.`;
    const text = `${full} ${capitalized(instead.text)}.`;
    return { fix: { text, code: instead.code }, price: null, workers: null };
  }
  const floor = (level: Level) => (work * ADDED_COST[level]) / workers;
  const args = { num_workers: workers, persistent_workers: loader?.persistentWorkers !== true };
  const fix = {
    text: `Raise num_workers from ${now} to ${workers} (there are ${formatCount(cores, 'core')}). If memory does not allow it, ${instead.text}.`,
    code: loaderCode(args, loader),
  };
  const price =
    view.source === 'trace'
      ? priceOf(view, dropInputWaits, floor)
      : priceFromLog(view, (level) => Math.max(view.step.unprofiled - exposed, floor(level)));
  return { fix: withoutDuplicates(fix, workers, loader), price, workers };
}

/** Workers sleep on a timer, and do not wait for reads. */
export const sleepsOnTimer = (sampled: WorkerUse | null): boolean =>
  sampled !== null && sampled.pause > sampled.disk + sampled.network;

/** Workers that sleep share cores. By how much more of them help depends on what they wait for, so there is no price. */
function moreThanCores(
  now: number,
  cores: number,
  loader: CapturedLoader | null | undefined,
  instead: Finding['fix'],
): Advice {
  const workers = 2 * now;
  const fix = {
    text: `${capitalized(instead.text)}. Or raise num_workers from ${now} to ${workers}: workers that sleep need no core of their own (there are ${formatCount(cores, 'core')}; torch warns of more workers than cores all the same).`,
    code: `${instead.code}\n${loaderCode({ num_workers: workers }, loader)}`,
  };
  return { fix: withoutDuplicates(fix, workers, loader), price: null, workers };
}

const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
