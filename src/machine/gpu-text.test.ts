import { expect, it } from 'vitest';
import { drawJob } from '../../test/helpers/triage.js';
import { triage } from '../report/triage-report.js';

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

it('triage reads what rocm-smi printed', () => {
  const gpuText = `${ROCM}\n`.repeat(4);
  const report = triage(drawJob({ processes: [{ pid: 100, main: 0.9 }], gpuText, gpus: [0] }));
  expect(report.verdict).toMatchObject({ bottleneck: 'gpu', cause: 'gpu-bound' });
  expect(report.gpus).toMatchObject([{ index: 0, utilization: 97, power_w: 540, power_limit_w: 750 }]);
});
