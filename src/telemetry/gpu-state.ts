import { largest, mean, median } from '../base/statistics.js';
import type { GpuIdentity } from '../model/gpu-identity.js';
import type { GpuTelemetry, TelemetryField } from '../model/telemetry.js';

/** One GPU over a whole log, small enough to pass between threads. Null: the log does not say. */
export interface GpuState extends GpuIdentity {
  readonly samples: number;
  /** Of the last sample, as `GpuTelemetry.timeNs`: good for comparing logs of one machine. */
  readonly untilNs: number | null;
  /** Samples in which it was at work; figures below are over them. All, where utilisation was not recorded. */
  readonly busySamples: number;
  /** Per cent, mean over all samples. */
  readonly utilisation: number | null;
  /** MHz, mean: a clock that is held down a third of the time is a third of it slower. */
  readonly clock: number | null;
  /** MHz: what the device can do where the log says so, else the highest of any sample. */
  readonly maxClock: number | null;
  /** Watts, median. */
  readonly power: number | null;
  /** Of any sample. */
  readonly maxPower: number | null;
  /** The limit where the log has it. */
  readonly powerLimit: number | null;
  /** Degrees, highest. */
  readonly temperature: number | null;
  /** Shares of its busy time in which the clock was held down. */
  readonly powerCap: number | null;
  readonly thermal: number | null;
  readonly slowdown: number | null;
}

/** Per cent of a sample's time: below it clocks and power say more about waiting than about work. */
const BUSY = 80;

export function summariseTelemetry(telemetry: GpuTelemetry): GpuState[] {
  const rowsOf = telemetry.gpus.map((): number[] => []);
  for (let row = 0; row < telemetry.rows; row++) rowsOf[telemetry.gpu[row]!]!.push(row);
  return telemetry.gpus.map((gpu, place) => stateOf(gpu, telemetry, rowsOf[place]!));
}

function stateOf(gpu: GpuIdentity, telemetry: GpuTelemetry, rows: readonly number[]): GpuState {
  const values = (field: TelemetryField, among: readonly number[]) =>
    among.map((row) => telemetry[field][row]!).filter((v) => !Number.isNaN(v));
  const utilisation = values('utilisation', rows);
  const busy = utilisation.length > 0 ? rows.filter((row) => telemetry.utilisation[row]! >= BUSY) : [...rows];
  const inBusy = (field: TelemetryField) => values(field, busy);
  const maximum = values('maxSmClock', rows);
  return {
    ...gpu,
    ...{ samples: rows.length, busySamples: busy.length, utilisation: known(mean(utilisation)) },
    untilNs: known(largest(rows.map((row) => telemetry.timeNs[row]!))),
    clock: known(mean(inBusy('smClock'))),
    maxClock: known(largest(maximum.length > 0 ? maximum : values('smClock', rows))),
    power: known(median(inBusy('power'))),
    maxPower: known(largest(values('power', rows))),
    powerLimit: known(median(values('powerLimit', rows))),
    temperature: known(largest(values('temperature', rows))),
    powerCap: known(mean(inBusy('powerCap'))),
    thermal: known(mean(inBusy('thermal'))),
    slowdown: known(mean(inBusy('slowdown'))),
  };
}

const known = (value: number) => (Number.isFinite(value) ? value : null);
