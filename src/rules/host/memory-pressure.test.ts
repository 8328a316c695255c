import { describe, expect, it } from 'vitest';
import { fires, silence } from '../../../test/helpers/draw-run.js';
import { loggedView } from '../../../test/helpers/logged-view.js';
import { sampledRun } from '../../../test/helpers/sampled-run.js';
import { rule } from './memory-pressure.js';

const view = loggedView({ compute: 80, idle_host: 20 });
const EXPECTED = { id: 'memory-pressure', addresses: 'host', unit: '%', placed: false } as const;
const job = (counters: Parameters<typeof sampledRun>[0]['counters']) =>
  sampledRun({ processes: [{ pid: 100, main: 0.5 }], counters: counters ?? {} });

describe('a machine short of memory', () => {
  it('memory pressure shows in the time in which tasks stall', () => {
    const found = fires(rule, view, EXPECTED, job({ memoryPressure: 0.4 }));
    expect(found.evidence[0]!.text).toBe('tasks waited for memory 40% of the time');
  });

  it('memory pressure shows in pages read back from swap', () => {
    const found = fires(rule, view, EXPECTED, job({ swappedIn: 20e6, memoryPressure: 0 }));
    expect(found.title).toBe('the machine swaps while it trains');
    expect(found.evidence[0]!.text).toBe('20.0 MB/s were read back from swap');
  });

  it('memory pressure is not reported on a healthy machine, or without samples', () => {
    expect(silence(rule, view, job({ memoryPressure: 0.02, swappedIn: 1000 }))).toBe(
      'there is enough memory',
    );
    expect(silence(rule, view, job({}))).toBe('there is enough memory');
    expect(silence(rule, view)).toBe('no /proc samples');
  });
});
