import { describe, expect, it } from 'vitest';
import { type GpuTelemetry, TELEMETRY_FIELDS, type TelemetryField } from '../model/telemetry.js';
import { summarizeTelemetry } from './gpu-state.js';

type Row = Partial<Record<TelemetryField, number>> & { readonly gpu?: number };

function tableOf(rows: readonly Row[]): GpuTelemetry {
  const gpus = [0, 1].map((index) => ({ index, name: null, uuid: null, pci: null }));
  const columns = TELEMETRY_FIELDS.map((f) => [f, Float32Array.from(rows, (r) => r[f] ?? Number.NaN)]);
  return {
    rows: rows.length,
    gpus,
    gpu: Uint16Array.from(rows, (r) => r.gpu ?? 0),
    ...(Object.fromEntries(columns) as Record<TelemetryField, Float32Array>),
    timeNs: new Float64Array(rows.length),
  };
}

describe('a GPU over a log', () => {
  it('a GPU over a log has figures over its busy samples', () => {
    const busy = { utilization: 100, smClock: 1800, power: 690, temperature: 60, powerCap: 1, thermal: 0 };
    const [first, second] = summarizeTelemetry(
      tableOf([
        { ...busy, smClock: 1200, thermal: 1, temperature: 88 },
        busy,
        { ...busy, gpu: 1 },
        { ...busy, utilization: 20, smClock: 1980, power: 150, powerCap: 0 },
        busy,
      ]),
    );
    expect(first).toMatchObject({ index: 0, samples: 4, busySamples: 3, utilization: 80, clock: 1600 });
    expect(first).toMatchObject({ maxClock: 1980, power: 690, maxPower: 690, temperature: 88, powerCap: 1 });
    expect(first!.thermal).toBeCloseTo(1 / 3, 6);
    expect(second).toMatchObject({ index: 1, samples: 1, clock: 1800 });
  });

  it('prefers the stated maximum clock to the highest seen', () => {
    const [gpu] = summarizeTelemetry(tableOf([{ utilization: 99, smClock: 1400, maxSmClock: 1980 }]));
    expect(gpu).toMatchObject({ maxClock: 1980, powerLimit: null, power: null, slowdown: null });
  });

  it('counts all samples where utilization was not recorded, and has null figures for a GPU without samples', () => {
    const [gpu, none] = summarizeTelemetry(tableOf([{ smClock: 1000 }, { smClock: 2000 }]));
    expect(gpu).toMatchObject({ busySamples: 2, utilization: null, clock: 1500 });
    expect(none).toMatchObject({
      samples: 0,
      busySamples: 0,
      clock: null,
      maxClock: null,
      temperature: null,
    });
  });
});
