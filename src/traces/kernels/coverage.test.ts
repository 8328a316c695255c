import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuTime } from '../../../test/helpers/cpu-time.js';
import { readTrace } from '../../../test/helpers/read-trace.js';
import { Category } from '../../model/category.js';
import { Trace } from '../../model/trace.js';
import { classifyName, classifyNames } from './classify.js';
import type { KernelKind } from './kernel-kind.js';

const zoo = fileURLToPath(new URL('../../../zoo/fixtures', import.meta.url));

/** Share of GPU time whose kinds pass, of the time that counts. */
function share(trace: Trace, counts: (k: KernelKind) => boolean, passes: (k: KernelKind) => boolean): number {
  const kinds = classifyNames(trace);
  let all = 0;
  let passed = 0;
  for (let row = 0; row < trace.data.rows; row++) {
    const kind = kinds[trace.data.name[row]!];
    if (kind === undefined || !counts(kind)) continue;
    all += trace.data.dur[row]!;
    if (passes(kind)) passed += trace.data.dur[row]!;
  }
  return all === 0 ? 0 : passed / all;
}

/** All that used a GPU. */
const traces = readdirSync(zoo).filter((name) => !name.endsWith('.json') && name !== 'cpu_only');

describe.each(traces)('%s', (name) => {
  const trace = new Trace(readTrace(gunzipSync(readFileSync(`${zoo}/${name}/rank0.json.gz`))).trace);

  it(`${name} has less than 2% of its GPU time unclassified`, () => {
    expect(
      share(
        trace,
        () => true,
        (k) => k.class === 'other',
      ),
    ).toBeLessThan(0.02);
  });

  it(`${name} has less than 2% of its matrix time without a precision`, () => {
    // Helpers (workspaces, offsets) do no arithmetic.
    const isMatrix = (k: KernelKind) => (k.class === 'gemm' || k.class === 'conv') && k.tensorCore !== null;
    expect(share(trace, isMatrix, (k) => k.precision === 'unknown')).toBeLessThan(0.02);
  });
});

describe('hostile names', () => {
  const word = fc.constantFrom(
    ...[
      'triton_poi_fused_',
      '_to_copy_',
      'view_',
      'xmma_',
      'f32f32_',
      'bf16',
      'cutlass',
      'Cijk_',
      'Alik_',
      'Memcpy',
    ],
    ...[
      'nvjet_',
      's1688gemm',
      'chunk_',
      'fmha',
      '(',
      '<',
      '::',
      ' ',
      '_',
      'nccl',
      '\u0000',
      '\ud800',
      'zeros',
      '1',
    ],
  );

  it('never throw', () => {
    const names = fc.oneof(
      fc.string({ maxLength: 300 }),
      fc.array(word, { maxLength: 400 }).map((w) => w.join('')),
    );
    fc.assert(
      fc.property(
        names,
        fc.constantFrom(Category.kernel, Category.memcpy, Category.memset),
        (name, category) => {
          expect(classifyName(name, category).class).toBeTypeOf('string');
        },
      ),
    );
  });

  it('take bounded time when they are 100 KB long', () => {
    const parts = [
      'triton_poi_fused_',
      '_to_copy_view_t_',
      'x',
      '_',
      'chunk_',
      'xmma_f32',
      'nvjet_sm',
      'Cijk_A',
      'zeros_',
      '(<',
    ];
    const names = parts.map((part) => `${part.repeat(100_000 / part.length)}!`);
    names.push(...parts.map((part) => `triton_poi_fused_${part.repeat(10_000)}!`));
    const start = cpuTime();
    for (const name of names) classifyName(name, Category.kernel);
    // A real name takes about 70 µs, these at most 2 ms. The bound leaves room for a slow machine.
    expect((cpuTime() - start) / names.length).toBeLessThan(50);
  });
});
