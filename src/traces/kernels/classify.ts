import { inBlocks } from '../../base/blocks.js';
import { Category } from '../../model/category.js';
import type { Trace } from '../../model/trace.js';
import { CLASSES } from './class-rules.js';
import { communicationSource } from './communication.js';
import { copyKind } from './copies.js';
import {
  firstMatch,
  type KernelKind,
  type KernelKinds,
  LOOKED_AT,
  type NameRule,
  type WorkClass,
} from './kernel-kind.js';
import { arithmeticOf } from './precision.js';
import { SOURCES } from './source-rules.js';
import { classifyInductor, isInductorName } from './triton-names.js';

/** xmma writes the formats of its input with filter, then of its output: `nhwckrsc_nhwc`. */
const LAYOUTS: readonly NameRule<'nchw' | 'nhwc'>[] = [
  [/nhwckrsc_nchw/, 'nchw'],
  [/nhwc|channels_last|NHWC/, 'nhwc'],
  [/nchw|NCHW/, 'nchw'],
];

/** What a piece of GPU work is, from its name alone. */
export function classifyName(fullName: string, category: Category): KernelKind {
  const name = fullName.slice(0, LOOKED_AT);
  if (category === Category.memcpy) return transfer('copy', name);
  if (category === Category.memset) return transfer('fill', name);
  const comms = communicationSource(name);
  if (comms !== undefined) return { ...PLAIN, class: 'comms', source: comms };

  const inductor = isInductorName(name);
  const workClass = inductor ? classifyInductor(name) : (firstMatch(CLASSES, name) ?? 'other');
  if (workClass === 'copy') return transfer('copy', name);
  const source = firstMatch(SOURCES, name) ?? 'unknown';
  return {
    class: workClass,
    ...arithmeticOf(name, workClass),
    fused: source === 'triton' || workClass === 'attention',
    source,
    // A kernel that converts between layouts has none of its own.
    layout: workClass === 'layout' ? null : (firstMatch(LAYOUTS, name) ?? null),
    copy: null,
  };
}

export function classifyNames(trace: Trace): KernelKinds {
  const kinds = new Array<KernelKind | undefined>(trace.strings.size).fill(undefined);
  const { work } = trace.links;
  const { name } = trace.data;
  inBlocks(work.length, (from, to) => {
    for (let i = from; i < to; i++) {
      const id = name[work[i]!]!;
      kinds[id] ??= classifyName(trace.strings.text(id), trace.category(work[i]!));
    }
  });
  return kinds;
}

const PLAIN: KernelKind = {
  class: 'other',
  precision: 'unknown',
  tensorCore: null,
  fused: false,
  source: 'unknown',
  layout: null,
  copy: null,
};

function transfer(workClass: WorkClass, name: string): KernelKind {
  return {
    ...PLAIN,
    class: workClass,
    source: 'runtime',
    copy: workClass === 'copy' ? copyKind(name) : null,
  };
}
