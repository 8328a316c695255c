import { Category } from '../../model/category.js';
import type { Trace } from '../../model/trace.js';
import { CLASSES } from './class-rules.js';
import { communicationSource } from './communication.js';
import { copyKind } from './copies.js';
import { firstMatch, type KernelKind, LOOKED_AT, type WorkClass } from './kernel-kind.js';
import { layoutOf, passOf } from './pass.js';
import { arithmeticOf } from './precision.js';
import { SOURCES } from './source-rules.js';
import { classifyInductor, isInductorName } from './triton-names.js';

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
    ...PLAIN,
    class: workClass,
    ...arithmeticOf(name, workClass),
    fused: source === 'triton' || workClass === 'attention',
    source,
    pass: workClass === 'optimizer' ? 'unknown' : passOf(name),
    layout: layoutOf(name, workClass),
  };
}

/**
 * The kind of every name that GPU work has, by string id: each distinct name is looked at once, each row is a lookup
 * `kinds[trace.data.name[row]]`. Undefined for strings that name no GPU work.
 */
export function classifyNames(trace: Trace): readonly (KernelKind | undefined)[] {
  const { data, strings } = trace;
  const kinds = new Array<KernelKind | undefined>(strings.size).fill(undefined);
  const known = new Uint8Array(strings.size);
  const { work } = trace.links;
  for (let i = 0; i < work.length; i++) {
    const id = data.name[work[i]!]!;
    if (known[id] === 1) continue;
    known[id] = 1;
    kinds[id] = classifyName(strings.text(id), trace.category(work[i]!));
  }
  return kinds;
}

const PLAIN: KernelKind = {
  class: 'other',
  precision: 'unknown',
  tensorCore: null,
  fused: false,
  source: 'unknown',
  pass: 'unknown',
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
