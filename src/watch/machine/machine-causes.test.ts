import { describe, expect, it } from 'vitest';
import { GpuUsage } from './gpu-usage.js';
import { JobUsage } from './job-usage.js';
import { Machines } from './machines.js';
import { MemoryGrowth } from './memory-growth.js';
import { UsageHistory } from './usage-history.js';

const START = 1.8e12;
const CHANGE = 60;

interface Thread {
  readonly id: number;
  readonly cores: number;
  readonly waits?: number;
}

/** A recording of /proc, two samples per second for two minutes. `of`: what the threads of the job do in a second. */
function jobThat(of: (second: number) => readonly Thread[], more: (second: number) => object = () => ({})) {
  const job = new JobUsage();
  const used = new Map<number, { cpu: number; delayed: number }>();
  const write = (value: object) => job.push(Buffer.from(`${JSON.stringify(value)}\n`));
  write({ whyslow: 1, kind: 'proc-samples', machine: { host: 'a', started_ns: START * 1e6, cores: 8 } });
  for (let second = 0.5; second < 2 * CHANGE; second += 0.5) {
    const threads = of(second).map(({ id, cores, waits = 0 }) => {
      const sum = used.get(id) ?? { cpu: 0, delayed: 0 };
      used.set(id, { cpu: sum.cpu + cores / 2, delayed: sum.delayed + waits / 2 });
      return { id, name: 'python', state: 'R', ...used.get(id)! };
    });
    write({ sample: { seconds: second, processes: [{ pid: 1, threads }], counters: more(second) } });
  }
  const machines = new Machines();
  machines.jobs.push(job);
  machines.hostOf.set(0, 'a').set(1, 'b');
  return machines;
}

const change = {
  begun: START,
  onset: START + CHANGE * 1000,
  detected: START + (CHANGE + 30) * 1000,
  cause: 'compute',
  times: 1.5,
} as const;

describe('what the machines of a job show about a change', () => {
  const crowded = (s: number) => [{ id: 1, ...(s < CHANGE ? { cores: 1 } : { cores: 0.6, waits: 0.4 }) }];

  it('other programs take the cores: a thread waits for them, and they use more than before', () => {
    const machines = jobThat(crowded, (s) => ({ cpu_used: 10 + 1.1 * s + Math.max(0, s - CHANGE) * 2 }));
    const found = machines.explain([], change);
    expect(found?.cause).toBe('neighbor');
    expect(found?.evidence).toBe(
      'thread 1 (python) of process 1 waits for a core 40% of the time on a; before: 0%. Other programs use 2.5 cores there; before: 0.1',
    );
    // A rank on another machine has other neighbors, and input that is waited for is its own cause.
    expect(machines.explain([1], change)).toBeNull();
    expect(machines.explain([], { ...change, cause: 'checkpoint' })).toBeNull();
  });

  it('threads of the job that are in each other’s way are no neighbors: other programs use no more than before', () => {
    const own = (s: number) => [...crowded(s), { id: 2, cores: s < CHANGE ? 0.5 : 1.2 }];
    expect(jobThat(own, (s) => ({ cpu_used: 1.6 * s })).explain([], change)).toBeNull();
    // Recordings without the CPU time of the machine: the job runs more than before.
    expect(jobThat(own).explain([], { ...change, times: 1.3 })).toBeNull();
    expect(jobThat(crowded).explain([], change)?.cause).toBe('neighbor');
  });

  it('a busy thread that waits a little longer does not explain a job that mostly waits for its GPU', () => {
    // All the CPU time of a step of 20 ms is 1 ms, and waits for a core make it 1.5 ms; the step takes 30 ms.
    const mostly = (s: number) => [{ id: 1, cores: 0.05, waits: s < CHANGE ? 0 : 0.5 / 30 }];
    expect(
      jobThat(mostly, (s) => ({ cpu_used: s < CHANGE ? 0.1 * s : 2 * s })).explain([], change),
    ).toBeNull();
  });

  it('what the job did before its first step is not what is usual', () => {
    // Importing for 20 s, when it waited for a core as well.
    const started = (s: number) => [{ id: 1, cores: 0.5, waits: s < 20 ? 0.9 : s < CHANGE ? 0.02 : 0.25 }];
    const machines = jobThat(started, (s) => ({ cpu_used: s + Math.max(0, s - CHANGE) }));
    const small = { ...change, times: 1.1 };
    expect(machines.explain([], { ...small, begun: START + 20_000 })?.cause).toBe('neighbor');
    expect(machines.explain([], { ...small, begun: START })).toBeNull();
  });

  it('a thread that was always there, and now waits for a core after other programs came, is not new', () => {
    const idle = (s: number) => [...crowded(s), { id: 3, cores: 0.05, waits: s < CHANGE ? 0 : 0.5 }];
    expect(
      jobThat(idle, (s) => ({ cpu_used: s < CHANGE ? 1.1 * s : 3 * s })).explain([], change)?.cause,
    ).toBe('neighbor');
  });

  it('the host of a virtual machine takes its cores', () => {
    const machines = jobThat(
      () => [{ id: 1, cores: 1 }],
      (s) => ({ cpu_used: s, cpu_stolen: Math.max(0, s - CHANGE) * 0.5 }),
    );
    expect(machines.explain([], change)).toEqual({
      cause: 'neighbor',
      evidence: 'the host of this virtual machine keeps back 33% of its CPU time on a; before: 0%',
    });
    expect(machines.explain([], { ...change, times: 4 })).toBeNull();
  });

  it('a wait for cores that is too short for the slow-down is not its cause', () => {
    const machines = jobThat((s) => [
      { id: 1, ...(s < CHANGE ? { cores: 1 } : { cores: 0.85, waits: 0.15 }) },
    ]);
    expect(machines.explain([], { ...change, times: 3 })).toBeNull();
  });

  it('a thread of its own begins to run: named, and no neighbor', () => {
    const machines = jobThat((s) => [
      { id: 1, cores: s < CHANGE ? 1 : 0.7, waits: s < CHANGE ? 0 : 0.3 },
      ...(s < CHANGE ? [] : [{ id: 7, cores: 0.9 }]),
    ]);
    const found = machines.explain([0], change);
    expect(found?.cause).toBe('threads');
    expect(found?.evidence).toContain('thread 7 (python) of process 1 runs, or wants to, 9');
  });

  it('a pool of threads that was busy all the time is no new thread', () => {
    const machines = jobThat(() => [1, 2, 3, 4].map((id) => ({ id, cores: 0.9 })));
    expect(machines.explain([], change)).toBeNull();
  });

  it('memory comes back from swap', () => {
    const machines = jobThat(
      () => [{ id: 1, cores: 1 }],
      (s) => ({ swapped_in: Math.max(0, s - CHANGE) * 50e6 }),
    );
    expect(machines.explain([], change)).toMatchObject({ cause: 'memory' });
  });

  it('the clock of a GPU fell, also if its log is in another time zone; a GPU that idles has not slowed down', () => {
    const usage = new GpuUsage();
    const zone = 3 * 3.6e6;
    const two = (n: number) => String(n).padStart(2, '0');
    let text = '#Date Time gpu pwr gtemp sm pclk tviol\n#YYYYMMDD HH:MM:SS Idx W C % MHz %\n';
    for (let s = 0; s < 2 * CHANGE; s++) {
      const at = new Date(START + zone + s * 1000);
      const day = `${at.getUTCFullYear()}${two(at.getUTCMonth() + 1)}${two(at.getUTCDate())}`;
      const time = [at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()].map(two).join(':');
      const slow = s > CHANGE;
      text += `${day} ${time} 0 600 60 100 1980 0\n`;
      text += `${day} ${time} 1 600 ${slow ? 88 : 60} 100 ${slow ? 1410 : 1980} ${slow ? 100 : 0}\n`;
      text += `${day} ${time} 2 90 40 ${slow ? 0 : 100} ${slow ? 345 : 1980} 0\n`;
    }
    for (let at = 0; at < text.length; at += 1000) usage.push(Buffer.from(text.slice(at, at + 1000)));
    usage.writtenAt(START + 2 * CHANGE * 1000);
    const machines = new Machines();
    machines.gpus.push({ host: 'a', usage });
    expect(machines.explain([], { ...change, times: 1.3 })).toEqual({
      cause: 'gpu-clock',
      evidence: 'the clock of GPU 1 on a fell from 1,980 to 1,410 MHz (thermal, 88 °C)',
    });
    expect(machines.explain([], { ...change, times: 3 })).toBeNull();
  });
});

describe('memory that grows', () => {
  const grown = (of: (second: number) => number, available = 8e9, seconds = 120) => {
    const memory = new MemoryGrowth();
    for (let s = 0; s < seconds; s += 0.5) memory.add(START + s * 1000, of(s), available - of(s));
    return memory.growth(START);
  };

  it('is reported with its rate and the time that is left', () => {
    const growth = grown((s) => 1e9 + 30e6 * s);
    expect(growth!.perHour / 3600).toBeCloseTo(30e6, -6);
    expect(growth!.hoursLeft).toBeCloseTo((8e9 - 1e9 - 30e6 * 120) / 30e6 / 3600, 1);
  });

  it.each([
    ['a cache that fills up', (s: number) => 4e9 - 3e9 * Math.exp(-s / 20)],
    ['memory that comes and goes', (s: number) => 3e9 + 1e9 * Math.sin(s)],
    ['a leak that has room for weeks', (s: number) => 1e9 + 1e4 * s],
    ['memory that grew once', (s: number) => (s < 60 ? 1e9 : 4e9)],
  ])('%s is no leak', (_, of) => expect(grown(of)).toBeNull());

  it('is found soon if it is fast, also after hours, and if it takes hours', () => {
    expect(grown((s) => 1e9 + 2e5 * s, 8e9, 20_000)).not.toBeNull();
    expect(grown((s) => 1e9 + 60e6 * Math.max(0, s - 19_960), 8e9, 20_000)!.since).toBeGreaterThan(
      START + 19_950e3,
    );
  });
});

it('the history of a machine covers the whole run in bounded memory', () => {
  const history = new UsageHistory();
  for (let s = 0; s < 100_000; s++)
    history.add(s * 1000, (s + 1) * 1000, new Map([['x', s < 50_000 ? 1 : 3]]));
  expect(history.between(0, 40e6)!.mean('x')).toBeCloseTo(1);
  expect(history.between(60e6, 100e6)!.mean('x')).toBeCloseTo(3);
  expect(history.between(0, 100e6)!.rate('x')).toBeCloseTo(2, 1);
  // What is read once more changes nothing.
  history.add(0, 1000, new Map([['x', 100]]));
  expect(history.between(0, 40e6)!.mean('x')).toBeCloseTo(1);
});
