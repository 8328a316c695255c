import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { ms } from '../base/units.js';
import { windowCost } from './window-cost.js';

const anchors = (seconds: number) => [{ wall_ns: 5e18 }, { wall_ns: 5e18 + seconds * 1e9 }];
const WINDOW = { first_step: 20, last_step: 25 };
const costOf = (...ranks: readonly object[]) =>
  inFolder(async (out) => {
    await mkdir(join(out, 'ranks'));
    await Promise.all(
      ranks.map((rank, i) => writeFile(join(out, 'ranks', `rank_${i}.json`), JSON.stringify(rank))),
    );
    return windowCost(out, { ms: ms(100), profiled_ms: ms(150) });
  });

describe('what a window costs', () => {
  it('is the time it blocked, and seven steps that took 50 ms longer', async () => {
    const rank = { anchors: anchors(100), trace: { seconds_blocked: 0.4, windows: [WINDOW] } };
    const cost = await costOf(rank, { anchors: anchors(100), trace: { seconds_blocked: 0, windows: [] } });
    expect(cost?.spent).toBeCloseTo(0.4 + 7 * 0.05, 6);
    expect(cost?.of).toBeCloseTo(100, 3);
  });

  it('is not known without windows, or without the length of the run', async () => {
    expect(
      await costOf({ anchors: anchors(100), trace: { seconds_blocked: 0.4, windows: [{}] } }),
    ).toBeNull();
    expect(await costOf({ anchors: [], trace: { seconds_blocked: 0.4, windows: [WINDOW] } })).toBeNull();
    expect(await costOf({ anchors: anchors(1), trace: 5 }, { anchors: 'x' }, [])).toBeNull();
  });
});
