import { expect, it } from 'vitest';
import { type GpuTelemetry, TELEMETRY_FIELDS } from '../model/telemetry.js';
import { telemetryCounters } from './counters.js';

const HOUR = 3600e9;
const NOON = 1_800_000_000e9;

/** One GPU, a sample a second from `firstNs` on; utilization counts up. */
function telemetry(firstNs: number, samples: number): GpuTelemetry {
  const none = () => new Float32Array(samples).fill(Number.NaN);
  const fields = Object.fromEntries(TELEMETRY_FIELDS.map((f) => [f, none()])) as Record<string, Float32Array>;
  return {
    ...(fields as unknown as Omit<GpuTelemetry, 'rows' | 'gpus' | 'gpu' | 'timeNs'>),
    rows: samples,
    gpus: [{ index: 0, name: null, uuid: null, pci: null }],
    gpu: new Uint16Array(samples),
    timeNs: Float64Array.from({ length: samples }, (_, i) => firstNs + i * 1e9),
    utilization: Float32Array.from({ length: samples }, (_, i) => i),
  };
}
const recording = { from: 0, to: 3e9, baseNs: BigInt(NOON + 10e9) };

it('draws the samples of the recording, and the one that holds when it begins', () => {
  const [counter, ...others] = telemetryCounters(telemetry(NOON + 0.5e9, 60), 0, recording, null);
  expect(others).toEqual([]);
  expect(counter).toMatchObject({ title: 'GPU utilization', unit: '%' });
  expect([...counter!.value]).toEqual([9, 10, 11, 12]);
  expect([...counter!.time]).toEqual([0, 0.5e9, 1.5e9, 2.5e9]);
});

it('finds the time zone of the log from the start of the job', () => {
  const local = telemetry(NOON + 2 * HOUR, 5 * 3600);
  // A log of five hours fits in many zones.
  expect(telemetryCounters(local, 0, recording, null)).toEqual([]);
  const [counter] = telemetryCounters(local, 0, recording, NOON - 3e9);
  expect([...counter!.value]).toEqual([9, 10, 11, 12]);
});

it('draws nothing where the log is of another time, or of another GPU', () => {
  expect(telemetryCounters(telemetry(NOON - 30 * 24 * HOUR, 60), 0, recording, null)).toEqual([]);
  expect(telemetryCounters(telemetry(NOON, 60), 1, recording, null)).toEqual([]);
});
