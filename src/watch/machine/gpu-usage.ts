import { TelemetryStreamReader } from '../../readers/common/telemetry/telemetry-stream-reader.js';
import { UsageHistory } from './usage-history.js';

/** Percent. A GPU that idles lowers its clock. */
const BUSY = 50;
const MOST_GPUS = 64;
/** Lines before the first sample: headers, warnings. */
const MOST_HEAD = 4096;
/** nvidia-smi writes once per second. Longer gaps are no interval. */
const MOST_GAP_MS = 60_000;
const ZONE_MS = 15 * 60_000;

export const GPU_USAGE = {
  /** MHz while it was busy. */
  clock: 'clock',
  thermal: 'thermal',
  powerCap: 'power cap',
  slowdown: 'slowdown',
  temperature: 'temperature',
  /** Watts. */
  power: 'power',
} as const;

/** Follows what nvidia-smi prints on one machine. Its time zone is not known: times are put right by when the file was written. */
export class GpuUsage {
  readonly gpus = new Map<number, UsageHistory>();
  readonly #last = new Map<number, number>();
  #head = '';
  #rest = '';
  #zone = 0;
  #latest = Number.NaN;

  push(chunk: Uint8Array): void {
    const text = this.#rest + Buffer.from(chunk).toString('latin1');
    const end = text.lastIndexOf('\n') + 1;
    this.#rest = text.slice(end).slice(-MOST_HEAD);
    const lines = text.slice(0, end);
    // The columns are named at the top, and must be known for every part.
    if (this.#head === '') this.#head = headOf(lines);
    const reader = new TelemetryStreamReader();
    reader.push(Buffer.from(this.#head + lines, 'latin1'));
    this.#add(reader.finish().telemetry);
  }

  restart(): void {
    this.#head = '';
    this.#rest = '';
  }

  /** `mtime`: when the last line was written, ms since 1970. */
  writtenAt(mtime: number): void {
    if (!Number.isNaN(this.#latest)) this.#zone = Math.round((mtime - this.#latest) / ZONE_MS) * ZONE_MS;
  }

  #add(rows: ReturnType<TelemetryStreamReader['finish']>['telemetry']): void {
    for (let row = 0; row < rows.rows; row++) {
      const at = rows.timeNs[row]! / 1e6;
      const gpu = rows.gpus[rows.gpu[row]!]!.index ?? rows.gpu[row]!;
      const before = this.#last.get(gpu) ?? Number.NaN;
      if (Number.isNaN(at) || (before >= at && before - at < MOST_GAP_MS)) continue;
      this.#last.set(gpu, at);
      this.#latest = at;
      const history = this.gpus.get(gpu) ?? new UsageHistory();
      if (!this.gpus.has(gpu) && this.gpus.size < MOST_GPUS) this.gpus.set(gpu, history);
      const isBusy = !(rows.utilization[row]! < BUSY);
      const values = new Map<string, number>([
        [GPU_USAGE.power, rows.power[row]!],
        [GPU_USAGE.temperature, rows.temperature[row]!],
        [GPU_USAGE.clock, isBusy ? rows.smClock[row]! : Number.NaN],
        [GPU_USAGE.thermal, isBusy ? rows.thermal[row]! : Number.NaN],
        [GPU_USAGE.powerCap, isBusy ? rows.powerCap[row]! : Number.NaN],
        [GPU_USAGE.slowdown, isBusy ? rows.slowdown[row]! : Number.NaN],
      ]);
      if (at - before < MOST_GAP_MS) history.add(before, at, values);
    }
  }

  /** From the clock of the run to that of the file. */
  toFile(time: number): number {
    return time - this.#zone;
  }
}

/** All lines up to the first that begins with a digit after blanks, and holds no name of a column. */
function headOf(text: string): string {
  let head = '';
  for (const line of text.split('\n')) {
    if (/^\s*[\d[{]/.test(line)) break;
    head += `${line}\n`;
  }
  return head.slice(0, MOST_HEAD);
}
