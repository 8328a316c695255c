import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clip, gapsOf, NO_SPANS, unionOf } from '../base/intervals.js';
import { cutTimeline, segmentBefore } from './rank-timeline.js';
import { TIME_CLASSES, type TimeClass } from './time-class.js';

const spans = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 900 }), fc.integer({ min: 1, max: 60 })), { maxLength: 40 })
  .map((list) => unionOf(list.map(([start, length]) => [start, start + length] as const)));

describe('a timeline', () => {
  it('covers its steps once, by class, in a bounded number of segments', () => {
    fc.assert(
      fc.property(
        spans,
        fc.array(fc.integer({ min: 0, max: 1000 }), { maxLength: 60 }),
        fc.uniqueArray(fc.integer({ min: 1, max: 999 }), { minLength: 1, maxLength: 5 }),
        fc.constantFrom(4096, 60, 24),
        (exposed, arrivals, cuts, most) => {
          const bounds = [0, ...cuts.sort((a, b) => a - b), 1000];
          const comms = clip(exposed, 0, 1000);
          const classes = Object.fromEntries(TIME_CLASSES.map((c) => [c, NO_SPANS])) as Record<
            TimeClass,
            typeof comms
          >;
          const timeline = cutTimeline(
            {
              spans: { ...classes, comms_transfer: comms, compute: gapsOf(comms, 0, 1000) },
              stepFrom: bounds.slice(0, -1),
              stepTo: bounds.slice(1),
              arrivals: arrivals.sort((a, b) => a - b),
            },
            most,
          );
          const { length, start, end } = timeline;
          expect(length).toBeLessThanOrEqual(most);
          expect([start[0], end[length - 1]]).toEqual([0, 1000]);
          for (let i = 1; i < length; i++) expect(start[i]).toBe(end[i - 1]);
          expect(timeline.classes.reduce((a, b) => a + b, 0)).toBeCloseTo(1000, 3);
          for (let i = 0; i < length; i++) expect(segmentBefore(timeline, end[i]!)).toBe(i);
        },
      ),
    );
  });

  it('a timeline has a gap between steps that do not follow each other', () => {
    const classes = Object.fromEntries(TIME_CLASSES.map((c) => [c, NO_SPANS])) as Record<
      TimeClass,
      typeof NO_SPANS
    >;
    const timeline = cutTimeline({
      spans: {
        ...classes,
        compute: unionOf([
          [0, 10],
          [100, 120],
        ]),
      },
      stepFrom: [0, 100],
      stepTo: [10, 120],
      arrivals: [],
    });
    expect([[...timeline.start], [...timeline.end]]).toEqual([
      [0, 100],
      [10, 120],
    ]);
  });
});
