import { describe, expect, it } from 'vitest';
import { drawJob } from '../../test/helpers/triage.js';
import { triage } from '../report/triage-report.js';
import { ROCM_HEADER, rocmAsQuery } from './gpu-watch.js';

/** As rocm-smi of ROCm 6 prints it (`--showuse --showclocks --showpower --showmaxpower --showtemp --json`). */
const ROCM = JSON.stringify({
  card0: {
    'GPU use (%)': '97',
    'sclk clock speed:': '(2100Mhz)',
    'Average Graphics Package Power (W)': '540.0',
    'Max Graphics Package Power (W)': '750.0',
    'Temperature (Sensor edge) (C)': '55.0',
    'Temperature (Sensor junction) (C)': '71.0',
  },
  card1: { 'GPU use (%)': '3', 'sclk clock speed:': '(132Mhz)' },
  system: { 'Driver version': '6.8.5' },
});

describe('rocm-smi', () => {
  it('becomes rows that the reader of nvidia-smi reads', () => {
    expect(rocmAsQuery(ROCM)).toBe('0, 97, 2100, 540.0, 750.0, 71.0\n1, 3, 132, [N/A], [N/A], [N/A]\n');
    const gpuText = ROCM_HEADER + rocmAsQuery(ROCM)!.repeat(4);
    const report = triage(drawJob({ processes: [{ pid: 100, main: 0.9 }], gpuText, gpus: [0] }));
    expect(report.verdict).toMatchObject({ bottleneck: 'gpu', cause: 'gpu-bound' });
    expect(report.gpus).toMatchObject([{ index: 0, utilization: 97, power_w: 540, power_limit_w: 750 }]);
  });

  it.each(['', 'null', '[]', '{}', '{"card0": 3}', 'WARNING: no GPU', '\u0000'])(
    'rocm-smi is not %j',
    (text) => {
      expect(rocmAsQuery(text)).toBeNull();
    },
  );
});
