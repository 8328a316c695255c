import { describe, expect, it } from 'vitest';
import { fakeFiles } from '../../test/helpers/machine.js';
import { readCpuLimit, readMemoryLeft } from './cgroup.js';

const none = { quota: null, throttled: null, periods: null, throttledPeriods: null };

describe('the CPU limit of a cgroup', () => {
  it('the CPU limit of a cgroup v2 is the tightest on the way up', () => {
    const files = fakeFiles({
      '/proc/5/cgroup': '0::/pods/job\n',
      '/sys/fs/cgroup/pods/job/cpu.max': 'max 100000\n',
      '/sys/fs/cgroup/pods/cpu.max': '250000 100000\n',
      '/sys/fs/cgroup/pods/cpu.stat':
        'usage_usec 9\nnr_periods 40\nnr_throttled 10\nthrottled_usec 1500000\n',
    });
    expect(readCpuLimit(files, 5)).toEqual({ quota: 2.5, throttled: 1.5, periods: 40, throttledPeriods: 10 });
  });

  it('the CPU limit of a cgroup v1 is found in a container that shows only its root', () => {
    const files = fakeFiles({
      '/proc/self/cgroup': '4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n',
      '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '400000\n',
      '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
      '/sys/fs/cgroup/cpu/cpu.stat': 'nr_periods 4\nnr_throttled 1\nthrottled_time 2000000000\n',
    });
    expect(readCpuLimit(files, 'self')).toEqual({ quota: 4, throttled: 2, periods: 4, throttledPeriods: 1 });
  });

  it.each([
    [
      'no limit',
      {
        '/proc/5/cgroup': '1:cpu:/\n',
        '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
        '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
      },
    ],
    ['no cgroups', {}],
    ['nonsense', { '/proc/5/cgroup': '\u0000\n::\n', '/sys/fs/cgroup/cpu.max': 'x' }],
  ])('the CPU limit of a cgroup is null with %s', (_, files) => {
    expect(readCpuLimit(fakeFiles(files as Record<string, string>), 5)).toEqual(none);
  });
});

describe('the memory that a cgroup has left', () => {
  it('is that of the tightest limit on the way up, and pages of files nobody uses are free', () => {
    const files = fakeFiles({
      '/proc/5/cgroup': '0::/pods/job\n',
      '/sys/fs/cgroup/pods/job/memory.max': 'max\n',
      '/sys/fs/cgroup/pods/job/memory.current': '5000000000\n',
      '/sys/fs/cgroup/pods/memory.max': '8000000000\n',
      '/sys/fs/cgroup/pods/memory.current': '6000000000\n',
      '/sys/fs/cgroup/pods/memory.stat': 'anon 5000000000\ninactive_file 1000000000\n',
    });
    expect(readMemoryLeft(files, 5)).toBe(3e9);
  });

  it('is found in version 1, where a huge number means no limit', () => {
    const of = (limit: string) =>
      readMemoryLeft(
        fakeFiles({
          '/proc/self/cgroup': '4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n',
          '/sys/fs/cgroup/memory/memory.limit_in_bytes': limit,
          '/sys/fs/cgroup/memory/memory.usage_in_bytes': '1000000000\n',
          '/sys/fs/cgroup/memory/memory.stat': 'total_inactive_file 400000000\n',
        }),
        'self',
      );
    expect(of('2000000000\n')).toBe(1.4e9);
    expect(of('9223372036854771712\n')).toBeNull();
    expect(readMemoryLeft(fakeFiles({}), 5)).toBeNull();
  });
});
