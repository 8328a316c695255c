import type { ProblemText } from '../../../base/problem.js';
import {
  type GpuIdentity,
  type GpuTelemetry,
  TELEMETRY_FIELDS,
  type TelemetryField,
} from '../../../model/telemetry.js';
import { FaultCounter } from '../fault-counter.js';
import { GrowingColumns } from '../growing-columns.js';
import { identityOf, type Sample } from './sample.js';

/** Every fault this reader tolerates, with the text shown for it. */
const FAULTS = {
  'cut-sample': {
    message: 'The last line is incomplete.',
    consequence: 'That sample is left out; the ones before it are complete.',
  },
  'odd-line': {
    message: 'A line is not a header and does not match the columns.',
    consequence: 'The line is left out.',
  },
  'odd-value': {
    message: 'A value is not a number, or is impossibly large.',
    consequence: 'It counts as unknown; the other values of the sample are used.',
  },
  'nul-bytes': {
    message: 'There are NUL bytes in the log, as after a machine crash; counted in bytes.',
    consequence: 'Samples that were not yet on disk at the crash are missing.',
  },
  'long-line': { message: 'A line is longer than 1 MiB.', consequence: 'The line is left out.' },
  'too-many-gpus': {
    message: 'The log seems to have more than 1024 GPUs.',
    consequence: 'Samples of further GPUs are left out.',
  },
  'too-many-samples': {
    message: 'The log has more than a million samples.',
    consequence: 'The later ones are left out.',
  },
} as const satisfies Record<string, ProblemText>;

export type TelemetryFaults = FaultCounter<keyof typeof FAULTS>;
export const newTelemetryFaults = (): TelemetryFaults => new FaultCounter(FAULTS, 'line');

/** Eight GPUs, once a second, for a day and a half; 54 bytes each. */
export const MAX_ROWS = 1_000_000;
const MAX_GPUS = 1024;

const FIELD_TYPES = Object.fromEntries(TELEMETRY_FIELDS.map((field) => [field, Float32Array])) as Readonly<
  Record<TelemetryField, Float32ArrayConstructor>
>;

export class TelemetryColumns {
  readonly #faults: TelemetryFaults;
  readonly #gpus: GpuIdentity[] = [];
  readonly #gpuIndex = new Map<string, number>();
  readonly #growing = new GrowingColumns({ gpu: Uint16Array, timeNs: Float64Array, ...FIELD_TYPES });

  constructor(faults: TelemetryFaults) {
    this.#faults = faults;
  }

  append(sample: Sample, line: number): void {
    if (this.#growing.rows === MAX_ROWS) return this.#faults.add('too-many-samples', line);
    const gpu = this.#indexOf(sample);
    if (gpu < 0) return this.#faults.add('too-many-gpus', line);
    const row = this.#growing.addRow();
    const { columns } = this.#growing;
    columns.gpu[row] = gpu;
    columns.timeNs[row] = sample.day + sample.time;
    for (const field of TELEMETRY_FIELDS) columns[field][row] = sample.figures[field];
  }

  /** Call once. */
  finish(): GpuTelemetry {
    return { rows: this.#growing.rows, gpus: this.#gpus, ...this.#growing.finish() };
  }

  /** A GPU is identified by its best id. A log without ids has one GPU. */
  #indexOf(sample: Sample): number {
    const key = sample.uuid ?? sample.pci ?? `${sample.index}`;
    const known = this.#gpuIndex.get(key);
    if (known !== undefined) return known;
    if (this.#gpus.length === MAX_GPUS) return -1;
    this.#gpuIndex.set(key, this.#gpus.length);
    return this.#gpus.push(identityOf(sample)) - 1;
  }
}
