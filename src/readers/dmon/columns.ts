import type { GpuIdentity } from '../../model/gpu-identity.js';
import { type GpuTelemetry, TELEMETRY_FIELDS, type TelemetryField } from '../../model/telemetry.js';
import type { FaultCounter } from './faults.js';
import { identityOf, type Sample } from './sample.js';

/** Eight GPUs, each second, for a day and a half; 54 bytes each. */
export const MAX_ROWS = 1_000_000;
export const MAX_GPUS = 1024;
const FIRST_ROWS = 64;

type FieldColumns = Record<TelemetryField, Float32Array>;

/** Rows as they come. Capacity doubles. */
export class TelemetryColumns {
  readonly #faults: FaultCounter;
  readonly #gpus: GpuIdentity[] = [];
  readonly #places = new Map<string, number>();
  #rows = 0;
  #gpu = new Uint16Array(FIRST_ROWS);
  #timeNs = new Float64Array(FIRST_ROWS);
  #fields = fieldColumns((_) => new Float32Array(FIRST_ROWS));

  constructor(faults: FaultCounter) {
    this.#faults = faults;
  }

  append(sample: Sample, line: number): void {
    if (this.#rows === MAX_ROWS) return this.#faults.add('too-many-samples', line);
    const place = this.#placeOf(sample);
    if (place < 0) return this.#faults.add('too-many-gpus', line);
    if (this.#rows === this.#gpu.length) this.#resize(Math.min(MAX_ROWS, 2 * this.#rows));
    const row = this.#rows++;
    this.#gpu[row] = place;
    this.#timeNs[row] = sample.day + sample.time;
    for (const field of TELEMETRY_FIELDS) this.#fields[field][row] = sample.figures[field];
  }

  /** Call once. */
  finish(): GpuTelemetry {
    this.#resize(this.#rows);
    return {
      ...{ rows: this.#rows, gpus: this.#gpus, gpu: this.#gpu, timeNs: this.#timeNs },
      ...this.#fields,
    };
  }

  /** A GPU is told by what names it best; a log that names none has one. */
  #placeOf(sample: Sample): number {
    const key = sample.uuid ?? sample.pci ?? `${sample.index}`;
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    if (this.#gpus.length === MAX_GPUS) return -1;
    this.#places.set(key, this.#gpus.length);
    return this.#gpus.push(identityOf(sample)) - 1;
  }

  #resize(capacity: number): void {
    this.#gpu = resized(this.#gpu, new Uint16Array(capacity));
    this.#timeNs = resized(this.#timeNs, new Float64Array(capacity));
    this.#fields = fieldColumns((f) => resized(this.#fields[f], new Float32Array(capacity)));
  }
}

function fieldColumns(make: (field: TelemetryField) => Float32Array): FieldColumns {
  return Object.fromEntries(TELEMETRY_FIELDS.map((f) => [f, make(f)])) as FieldColumns;
}

function resized<T extends Uint16Array | Float32Array | Float64Array>(from: T, to: T): T {
  to.set(from.length > to.length ? from.subarray(0, to.length) : from);
  return to;
}
