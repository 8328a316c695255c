import { describe, expect, it } from 'vitest';
import { readScript } from './read-script.js';
import { Values } from './values.js';

const namesIn = (text: string) => readScript(text).calls.map((call) => call.name);

describe('names', () => {
  it('are resolved through imports', () => {
    expect(
      namesIn(
        [
          'import torch.nn as nn, torch.optim',
          'from torch.utils.data import (DataLoader as DL, Dataset)',
          'from .engine import train',
          'nn.Linear(1, 2)',
          'torch.optim.Adam(p)',
          'DL(x)',
          'train()',
          'model(x).loss.item()',
        ].join('\n'),
      ),
    ).toEqual([
      'torch.nn.Linear',
      'torch.optim.Adam',
      'torch.utils.data.DataLoader',
      '.engine.train',
      '?.loss.item',
      'model',
    ]);
  });
});

describe('arguments', () => {
  it('are positional, named or unknown', () => {
    const [call] = readScript('f(a, b[0], *rest, key=1, other={"x": 2}, **more)').calls;
    expect([call!.positional.length, [...call!.keywords.keys()], call!.hasSpread]).toEqual([
      2,
      ['key', 'other'],
      true,
    ]);
  });
});

describe('values', () => {
  const valueIn = (text: string) => {
    const script = readScript(text);
    const call = script.calls.find((c) => c.name === 'show');
    return new Values(script).of(call!.positional[0]);
  };
  it.each([
    ['show(0)', 0],
    ['show(1_000)', 1000],
    ['show(None)', null],
    ['show("cpu")', 'cpu'],
    ['N = 4\nshow(N)', 4],
    ['A, B = 1, 2\nshow(B)', 2],
    ['N = 4\nN = 5\nshow(N)', undefined],
    ['N += 4\nshow(N)', undefined],
    ['a, b = f()\nshow(a)', undefined],
    ['parser.add_argument("-j", "--num-workers", default=3)\nshow(args.num_workers)', 3],
    ['parser.add_argument("--fast", action="store_true")\nshow(args.fast)', undefined],
    ['class C:\n    workers: int = 0\nshow(cfg.workers)', 0],
    ['a = b\nb = a\nshow(a)', undefined],
  ])('%j', (text, value) => expect(valueIn(text)).toBe(value));
});

describe('what is not understood', () => {
  it('is listed, and the rest is read', () => {
    const script = readScript('def f(:\n    x = )\n\nmodel.train()\n');
    expect(script.errors.length).toBeGreaterThan(0);
    expect(script.calls.map((c) => c.name)).toContain('model.train');
  });

  it.each([
    'x = 100. * 3',
    'def f():\n    yield',
    'match x:\n    case 1: pass',
    'print(f"{x!r:>{w}}")',
    'if (n := 1): pass',
  ])('is not %j', (text) => expect(readScript(text).errors).toEqual([]));
});
