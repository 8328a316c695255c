import { expect, it } from 'vitest';
import { TIME_CLASSES } from '../../src/facts/time-class.js';
import { classColor, classMeaning, confidenceWord, sentenceCase } from './words.js';

it.each([
  ['input wait', 'Input wait'],
  ['the GPU is idle', 'The GPU is idle'],
  ['num_workers=0 loads every batch', 'num_workers=0 loads every batch'],
  ['torch.save takes long', 'torch.save takes long'],
  ['Rank 2 is late', 'Rank 2 is late'],
  ['copy', 'Copy'],
  ['', ''],
])('the heading of %j is %j', (text, expected) => expect(sentenceCase(text)).toBe(expected));

it('confidence is high from 0.8 and medium from 0.5', () => {
  expect([0.8, 0.799, 0.5, 0.499].map(confidenceWord)).toEqual(['high', 'medium', 'medium', 'low']);
});

it('no meaning of a time class mentions a GPU in a job without one, if the class occurs there', () => {
  for (const name of [
    'compute',
    'idle_data',
    'idle_compile',
    'idle_comms',
    'idle_host',
    'idle_other',
  ] as const)
    expect(classMeaning(name, false)).not.toContain('GPU');
  expect(new Set(TIME_CLASSES.map((name) => classMeaning(name, true))).size).toBe(TIME_CLASSES.length);
});

it('every time class has a color of its own', () => {
  expect(classColor('idle_data')).toBe('--c-idle-data');
  expect(new Set(TIME_CLASSES.map(classColor)).size).toBe(TIME_CLASSES.length);
});
