import { ns, share } from '../../base/units.js';
import type { Compiling } from '../../diagnosis/compiling/compiling.js';
import type { Observed } from '../../diagnosis/observe.js';
import type { CompiledFunction } from '../../diagnosis/run-evidence.js';
import type { Claim, Remark } from '../kit/claim.js';
import { compilingDetails, compilingWords, divergenceWords } from '../kit/compile-words.js';
import { capitalized, hedged, MEASURE, unknown, words } from '../kit/words.js';

/** Only the torch.compile logs. */
interface Seen {
  readonly evidence: Pick<Observed['evidence'], 'compiled' | 'graphBreaks' | 'compiling'>;
}

/** The answer when only a torch.compile log exists. Null: there is none, or it is empty. */
export function compileLogAnswer({ evidence: { compiled, graphBreaks, compiling } }: Seen): Claim | null {
  if (compiling) return compilingAnswer(compiling, compiled);
  if (compiled.length + graphBreaks.length === 0) return null;
  return {
    bottleneck: 'unknown',
    cause: 'no-evidence',
    confidence: 0.4,
    words: unknown('the torch.compile log shows what was compiled, not what the steps of the job wait for'),
    next: [MEASURE],
  };
}

/** With automatic dynamic shapes one recompile per changing dimension is normal, and so is one per value of a flag. */
const REPEATEDLY = 3;
/** Compilation that takes most of a long time is what the job does. A short one is its start. */
const MOST = share(0.5);
const LONG = ns(10e9);

function compilingAnswer(compiling: Compiling, compiled: readonly CompiledFunction[]): Claim {
  const slowest = compiling.ranks[0]!;
  const [hangs] = compiling.diverging;
  const took = compilingWords(slowest);
  const headline = hangs ? divergenceWords(hangs) : took;
  const details = [...(hangs ? [capitalized(took)] : []), ...compilingDetails(compiling, compiled)];
  const again = compiled.some((f) => f.limit !== null || f.recompiles >= REPEATEDLY);
  const since = slowest.started ?? slowest.first;
  if (again && slowest.total >= LONG && slowest.total >= MOST * (slowest.last - since))
    return {
      bottleneck: 'host',
      cause: 'compile',
      confidence: 0.6,
      words: words(hedged('Probably', 'host'), headline, ...details),
      next: [MEASURE],
    };
  return {
    bottleneck: 'unknown',
    cause: 'no-evidence',
    confidence: 0.4,
    words: unknown(
      headline,
      ...details,
      'The log does not show what steps wait for once the code is compiled',
    ),
    next: [MEASURE],
  };
}

/** Less hardly matters to a job. Our choice. */
const WORTH_TELLING = ns(1e9);

/** What compiling took, if the answer is about the steps. */
export function compilingRemark({
  views,
  evidence: { compiling, compiled },
}: Pick<Observed, 'views' | 'evidence'>): Remark | null {
  if (views.length === 0 || !compiling || compiling.ranks[0]!.total < WORTH_TELLING) return null;
  const [hangs] = compiling.diverging;
  const said = [
    ...(hangs ? [capitalized(divergenceWords(hangs))] : []),
    capitalized(compilingWords(compiling.ranks[0]!)),
    ...compilingDetails(compiling, compiled),
  ];
  return { detail: said.join('. '), qualifies: null };
}
