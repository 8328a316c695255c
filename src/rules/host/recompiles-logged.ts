import { about, use } from '../../remedies/remedies.js';
import { MANY, recompiled, recompileEvidence, recompileRemedy } from '../kit/recompile-log.js';
import { found, type RunRule, silent } from '../kit/rule.js';

/** The part of T16 that needs no trace. With one, `recompiles` says what it costs and quotes the log. */
export const rule: RunRule = {
  reads: 'run',
  unpriced: 'allowed',
  info: {
    id: 'recompiles-logged',
    alias: 'T16',
    title: 'The torch.compile log shows functions that are recompiled repeatedly',
    needs:
      'the log of a job under TORCH_TRACE, or its stderr under TORCH_LOGS=recompiles, or with the recompile-limit warning',
    looksFor: 'A function that reached the recompile limit, or was compiled again three times or more.',
    why: 'Each recompile stops the step for seconds to minutes. After 8 torch.compile gives up, and the function runs eagerly from then on.',
    ...about('stable-guards'),
    thresholds: [MANY],
  },
  check(run) {
    if (run.ranks.some((view) => view.source === 'trace'))
      return silent('the trace shows what recompiling costs');
    const functions = recompiled(run, null);
    const [worst] = functions;
    if (!worst)
      return silent(
        run.evidence.compiled.length > 0
          ? 'the log shows only a few recompiles, as at any start'
          : 'no torch.compile log',
      );
    const remedy = recompileRemedy(functions);
    return found({
      id: worst.limit ? 'recompile-limit' : 'recompiles',
      title: worst.limit
        ? `${worst.name} runs eagerly: the recompile limit was reached`
        : `${worst.name} was compiled again ${worst.recompiles} times`,
      confidence: worst.limit ? 0.9 : 0.75,
      addresses: 'host',
      evidence: recompileEvidence(functions, run.evidence.compiling),
      price: null,
      ranks: [...new Set(functions.flatMap((f) => f.rank ?? []))],
      remedy: remedy ?? use('stable-guards', { fromLog: true }),
    });
  },
};
