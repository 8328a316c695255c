import type { Finding } from '../src/rules/kit/finding.js';

type Advice = Pick<Finding, 'id' | 'fix'>;

/** Findings that ask for opposite things. */
const OPPOSED: readonly (readonly [RegExp, RegExp])[] = [
  [/^small-batch$/, /^memory-(?:activations|logits)$/],
  [/^activation-checkpointing$/, /^memory-activations$/],
  [/^cudnn-benchmark$/, /^plans-rebuilt$/],
  [
    /^(?:launch-bound|unfused-elementwise)$/,
    /^(?:recompiles|recompile-limit|recompiles-logged|compiles-in-steps)$/,
  ],
];
/** Settings that two findings may not give different values. */
const SETTING =
  /\b(num_workers|batch_size|persistent_workers|pin_memory|prefetch_factor|bucket_cap_mb|OMP_NUM_THREADS|cudnn\.benchmark)\s*=\s*(\w+)|(set_num_threads)\((\d+)\)/g;
const ONLY_ON_GPU = /pin_memory|\bcuda\b|channels_last/;

/** What contradicts what among the findings of one report, in words. */
export function contradictionsIn(findings: readonly Advice[], hasGpu: boolean): readonly string[] {
  const ids = findings.map(({ id }) => id);
  const opposed = OPPOSED.flatMap(([a, b]) => {
    const [one, other] = [ids.find((id) => a.test(id)), ids.find((id) => b.test(id))];
    return one && other ? [`${one} and ${other}`] : [];
  });
  const values = new Map<string, Map<string, string>>();
  for (const { id, fix } of findings)
    for (const [, name, value, call, number] of fix.code.matchAll(SETTING)) {
      const of = values.get(name ?? call!) ?? new Map<string, string>();
      values.set(name ?? call!, of.set(value ?? number!, id));
    }
  const differing = [...values].flatMap(([name, of]) =>
    of.size > 1 ? [`${name}: ${[...of].map(([value, id]) => `${value} (${id})`).join(', ')}`] : [],
  );
  const kept = findings.filter(({ fix }) => fix.code.includes('persistent_workers=True'));
  const without = findings.filter(({ fix }) => fix.code.includes('num_workers=0'));
  const keptWithout = kept.flatMap((a) => without.map((b) => `${a.id} keeps workers, ${b.id} wants none`));
  const misplaced = findings
    .filter(({ fix }) => !hasGpu && ONLY_ON_GPU.test(fix.code))
    .map(({ id }) => `${id} on a job without a GPU`);
  return [...opposed, ...differing, ...keptWithout, ...misplaced];
}
