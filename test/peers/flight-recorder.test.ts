import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import { describeWithShared, SHARED } from '../helpers/shared.js';

/** Dumps of 16 ranks into which somebody put faults. `fault_injection.log` has the truth. */
describeWithShared('world/flight-recorder', 'dumps of jobs with injected faults', () => {
  const folder = join(SHARED, 'world', 'flight-recorder');
  it.each(readdirSync(folder))('name exactly the faulty ranks: %s', async (set) => {
    const log = readFileSync(join(folder, set, 'fault_injection.log'), 'utf8');
    const faulty: unknown = JSON.parse(/Fault ranks: (\[.*\])/.exec(log)![1]!);
    const { verdict, findings } = await diagnose(join(folder, set));
    expect(verdict).toMatchObject({ cause: 'stuck-collective', confidence: 0.9 });
    expect(findings[0]!.ranks).toEqual(faulty);
  });
});
