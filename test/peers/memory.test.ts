import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import { describeWithShared, SHARED } from '../helpers/shared.js';

/** Reads a snapshot without us: Python's own unpickler, and one pass over the events. */
const ORACLE = `
import pickle, sys
snapshot = pickle.load(open(sys.argv[1], "rb"))
total = peak = at = 0
for i, e in enumerate(snapshot["device_traces"][0]):
    total += {"alloc": 1, "free_completed": -1}.get(e["action"], 0) * e["size"]
    if total > peak:
        peak, at = total, i
live = {}
for e in snapshot["device_traces"][0][: at + 1]:
    if e["action"] == "alloc":
        live[e["addr"]] = e
    if e["action"] == "free_completed":
        live.pop(e["addr"], None)
is_state = lambda e: any("torch/optim" in f["filename"] for f in e["frames"])
print(peak, sum(e["size"] for e in live.values() if is_state(e)))
`;

describeWithShared('world/memory', 'memory snapshots of other people', () => {
  const folder = join(SHARED, 'world', 'memory');
  it.each(readdirSync(folder))('have the peak that a second reading finds: %s', async (name) => {
    const [peak, state] = execFileSync('python3', ['-c', ORACLE, join(folder, name)], { encoding: 'utf8' })
      .split(' ')
      .map(Number);
    const { verdict, findings } = await diagnose(join(folder, name));
    expect(verdict).toMatchObject({ cause: 'memory-peak' });
    expect(verdict.headline).toContain(`the peak is ${Math.round(peak! / 1e6)} MB`);
    const optimizer = findings.find((f) => f.id === 'memory-optimizer');
    if (optimizer && state! > 0) {
      // An optimizer that replaces parameters (`p.data = …`) makes them too.
      const held = 1e6 * Number(/holds (\d+) MB/.exec(optimizer.title)?.[1]);
      const parameters = (peak! * Number(/parameters (\d+)%/.exec(verdict.headline)?.[1] ?? 0)) / 100;
      const apart = Math.min(Math.abs(held - state!), Math.abs(held + parameters - state!));
      expect(apart).toBeLessThan(0.01 * peak!);
    }
  });
});
