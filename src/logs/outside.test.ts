import { describe, expect, it } from 'vitest';
import { jobLog } from '../../test/helpers/draw-job.js';
import { analyzeOne, ms, msByClass, stepLines } from '../../test/helpers/logs.js';

describe('time outside training steps', () => {
  it('time outside training steps is in no step, however much of it is between recorded ones', () => {
    const facts = analyzeOne(jobLog({ phases: { evaluation: { ms: 9000, count: 9 } } }));
    expect(ms(facts.step)).toBe(10);
    expect(msByClass(facts)).toEqual({ compute: 9, idle_host: 1 });
    expect(facts.notes.map((n) => n.code)).not.toContain('rare-pauses');
  });

  it('time outside training is cut out of the recorded step around it, and out of the phase that it interrupts', () => {
    const lines = jobLog({ phases: { compile: { ms: 1000, count: 10 } } });
    const sixty = lines.findIndex((line) => line.includes('"step":60'));
    // A compilation of 30 ms in the middle of a forward pass.
    const slow = [
      ...stepLines(55, 'forward 34 +1050 host', 'compile 30 +1052 host', 'backward 5 +1084 host'),
      ...stepLines(55, 'training_step 40 +1050 host').map((line) =>
        JSON.stringify({ ...(JSON.parse(line) as object), outside_ms: { compile: 500 } }),
      ),
    ];
    const facts = analyzeOne(lines.slice(0, sixty), slow, lines.slice(sixty));
    const at = facts.indices.indexOf(55);
    expect(ms(facts.periods[at]!)).toBe(10);
    expect(ms(facts.timePerStep[at]!.compute)).toBe(9);
    // Ranks are compared by the wall clock.
    expect(facts.timeline!.stepTo[at]! - facts.timeline!.stepFrom[at]!).toBe(40e6);
  });

  it('stays where it is in a log without the totals of the job', () => {
    const [, ...lines] = jobLog({ phases: { evaluation: { ms: 9000, count: 9 } } });
    const facts = analyzeOne('{"whyslow": 1, "run": "a", "rank": 0}', lines);
    expect(facts.job).toBeNull();
    expect(ms(facts.step)).toBeGreaterThan(90);
  });
});
