import { describe, expect, it } from 'vitest';
import { TelemetryStreamReader } from '../../readers/common/telemetry/telemetry-stream-reader.js';
import { seriesOf, summarizeTelemetry } from '../../telemetry/gpu-state.js';
import { decide } from '../kit/decide.js';
import { telemetryAnswer } from './telemetry.js';

const HEAD = '# gpu pwr gtemp mtemp sm mem mclk pclk pviol tviol\n# Idx W C C % % MHz MHz % bool\n';
const QUERY =
  'index, name, utilization.gpu [%], clocks.current.sm [MHz], clocks.max.sm [MHz], power.draw [W], power.limit [W]\n';

function judge(...logs: string[]) {
  const beside = logs.map((text) => {
    const reader = new TelemetryStreamReader();
    reader.push(Buffer.from(text));
    const read = reader.finish();
    const { telemetry } = read;
    return { of: 'run', evidence: { gpus: summarizeTelemetry(telemetry), series: seriesOf(telemetry) } };
  });
  const seen = { inputs: { beside } } as unknown as Parameters<typeof telemetryAnswer>[0];
  return telemetryAnswer(seen) && decide(seen, [telemetryAnswer]).verdict;
}
/** One GPU, a sample for each number: percent busy. */
const dmon = (busy: readonly number[], watts = 300, clock = 1900, powerViolation = 0, heat = 0, gpu = 0) =>
  HEAD +
  busy.map((sm) => `${gpu} ${watts} 60 50 ${sm} 40 2619 ${clock} ${powerViolation} ${heat}\n`).join('');
const query = (busy: number, watts: number, clock = 1980) =>
  QUERY + `0, NVIDIA H200, ${busy}%, ${clock} MHz, 1980 MHz, ${watts} W, 700.00 W\n`.repeat(5);
const FULL = [100, 100, 99, 100];

describe('a verdict from telemetry alone', () => {
  it.each([
    ['a GPU at its power limit', dmon(FULL, 690, 1830, 100), 'gpu', 'gpu-busy'],
    [
      'the same in a log that goes on after the job',
      dmon([0, 0, ...FULL, 0, 0], 690, 1830, 100),
      'gpu',
      'gpu-busy',
    ],
    ['a GPU with much of its power', query(98, 500), 'gpu', 'gpu-busy'],
    ['heat', dmon(FULL, 690, 900, 0, 1), 'gpu', 'gpu-throttled'],
    ['a clock far below its maximum', query(98, 500, 1200), 'gpu', 'gpu-throttled'],
    ['little power', query(98, 150), 'unknown', 'busy-but-starved'],
    ['power, and nothing that tells how much is possible', dmon(FULL, 120), 'unknown', 'gpu-busy'],
    ['a sawtooth', dmon([90, 0, 80, 0, 95]), 'unknown', 'gpu-waits'],
    ['a trickle', dmon([0, 9, 0, 9]), 'unknown', 'gpu-waits'],
    ['nothing', dmon([0, 0, 0, 0]), 'unknown', 'gpu-waits'],
  ])('%s: %#', (_, log, bottleneck, cause) => {
    expect(judge(log)).toMatchObject({ bottleneck, cause, second: null });
  });

  it('is sure enough to name the GPU, and not sure where it names nothing', () => {
    expect(judge(query(98, 500))!.confidence).toBeGreaterThanOrEqual(0.5);
    expect(judge(query(98, 150))!.confidence).toBeLessThan(0.5);
  });

  it('says what was seen and what to do', () => {
    expect(judge(query(98, 150))!.sentence).toMatch(/busy 98% .* only 150 of 700 W/);
    expect(judge(dmon([90, 0, 90]))!.sentence).toMatch(/busy 60% of the time/);
    expect(judge(dmon(FULL, 690, 900, 0, 1))!.sentence).toMatch(/heat holds the clock of GPU 0 at 900 MHz/);
    expect(judge(dmon(FULL, 120))!.next[0]).toMatch(/power\.limit/);
    expect(judge(dmon([0, 9, 0, 9]))!.next.join(' ')).toMatch(/whyslow triage/);
  });

  it('leaves out GPUs that the job does not use, and looks at all others', () => {
    const second = dmon([0, 0, 0, 0], 60, 300, 0, 0, 1).replace(HEAD, '');
    expect(judge(dmon(FULL, 690, 1830, 100) + second)).toMatchObject({
      bottleneck: 'gpu',
      cause: 'gpu-busy',
    });
    const half = dmon(FULL, 690, 1830, 100, 0, 1).replace(HEAD, '');
    expect(judge(dmon([20, 20, 20, 20]) + half)!.sentence).toMatch(/the 2 GPUs are busy 60%/);
  });

  it('says what to record if the log has power and not how busy the GPU is', () => {
    const verdict = judge('timestamp, power.draw [W]\n2026/11/18 15:58:57.879, 18.81 W\n')!;
    expect(verdict).toMatchObject({ bottleneck: 'unknown', confidence: 0 });
    expect(verdict.sentence).toMatch(/does not say how busy/);
    expect(verdict.next[0]).toMatch(/utilization\.gpu/);
  });

  it('is none without telemetry', () => expect(judge()).toBeNull());
});
