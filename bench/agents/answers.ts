import type { Client } from '@modelcontextprotocol/client';
import type { CompareReport } from '../../src/compare/compare-report.js';
import type { Report } from '../../src/library/vocabulary.js';

/** What a person could ask an agent, and what was measured. The agent here is a fixed program, so that the tools are tested alone. */
export type Question = { readonly id: string; readonly ask: string; readonly source: string } & (
  | { kind: 'late'; paths: string[]; truth: { ranks: number[]; cause: string | null } }
  | {
      kind: 'bottleneck';
      paths: string[];
      /** `refuse`: that the file cannot be diagnosed is a right answer. */
      truth: { bottleneck: string[]; must_not_say?: string[]; max_confidence?: number };
    }
  | { kind: 'gain'; paths: string[]; truth: { rules: string[]; measured?: number } }
  | { kind: 'helped'; before: string[]; after: string[]; truth: { verdict: string[]; measured: number } }
  | { kind: 'step'; paths: string[]; truth: { ms: number } }
  | { kind: 'kernel'; paths: string[]; truth: { name: string; count: number; ms: number } }
);

export interface Answered {
  readonly answer: string;
  readonly right: boolean;
  /** Of all answers of tools that it took, text and object. */
  readonly bytes: number;
}

interface Said {
  readonly text: string;
  readonly object: unknown;
  readonly failed: boolean;
}

/** A step time within this of the measured one is right, as in the scores of the zoo. */
const STEP_WITHIN = 0.2;
/** A measured speedup within this is right. */
const SPEEDUP_WITHIN = 0.3;

/** Answers a question from what the tools return, and from nothing else. */
export async function answerOf(client: Client, question: Question): Promise<Answered> {
  let bytes = 0;
  const ask = async (name: string, input: Record<string, unknown>): Promise<Said> => {
    const result = await client.callTool({ name, arguments: input }, { timeout: MOST_MS });
    const text = (result.content as { readonly text: string }[])[0]!.text;
    bytes += Buffer.byteLength(text + JSON.stringify(result.structuredContent ?? {}));
    return { text, object: result.structuredContent, failed: result.isError === true };
  };
  const { answer, right } = await ANSWERS[question.kind](question as never, ask);
  return { answer, right, bytes };
}

const MOST_MS = 300_000;

type Ask = (name: string, input: Record<string, unknown>) => Promise<Said>;
type Of<K extends Question['kind']> = Extract<Question, { kind: K }>;
type Judged = Omit<Answered, 'bytes'>;

const ANSWERS: { readonly [K in Question['kind']]: (q: Of<K>, ask: Ask) => Promise<Judged> } = {
  late: async ({ paths, truth }, ask) => {
    const { stragglers } = (await ask('diagnose', { paths })).object as Report;
    const ranks = stragglers.flatMap((s) => s.ranks).toSorted((a, b) => a - b);
    const causes = [...new Set(stragglers.map((s) => s.cause))];
    const wanted = truth.cause === null ? [] : [truth.cause];
    return {
      answer: causes.length === 0 ? 'none is late' : `ranks [${ranks}]: ${causes.join(', ')}`,
      right: `${ranks}` === `${truth.ranks}` && `${causes}` === `${wanted}`,
    };
  },
  bottleneck: async ({ paths, truth }, ask) => {
    const { text, object, failed } = await ask('diagnose', { paths });
    if (failed) return { answer: 'refuse', right: truth.bottleneck.includes('refuse') };
    const { bottleneck, confidence } = (object as Report).verdict;
    const slip = truth.must_not_say?.find((phrase) => text.includes(phrase));
    const right =
      truth.bottleneck.includes(bottleneck) &&
      slip === undefined &&
      confidence <= (truth.max_confidence ?? 1);
    return { answer: `${bottleneck}, ${confidence}${slip ? `, with "${slip}"` : ''}`, right };
  },
  gain: async ({ paths, truth }, ask) => {
    const { report_id } = (await ask('diagnose', { paths })).object as { report_id: string };
    const { findings } = (await ask('findings', { report: report_id })).object as Report;
    const [best] = findings
      .filter((f) => f.risk !== 'numerics' && f.speedup !== null)
      .toSorted((a, b) => b.speedup!.likely - a.speedup!.likely);
    if (!best) return { answer: 'none', right: false };
    const { low, high } = best.speedup!;
    const answer = `${best.id} (${best.rule}), ×${low} to ×${high}`;
    return { answer, right: truth.rules.includes(best.rule) };
  },
  helped: async ({ before, after, truth }, ask) => {
    const { verdict, step } = (await ask('compare', { before, after })).object as CompareReport;
    const { likely } = step.speedup;
    // Another answer than these claims no size.
    const claims = verdict === 'faster' || verdict === 'slower';
    const close = Math.abs(likely / truth.measured - 1) <= SPEEDUP_WITHIN;
    return {
      answer: claims ? `${verdict}, ×${likely.toFixed(2)}` : verdict,
      right: truth.verdict.includes(verdict) && (close || !claims),
    };
  },
  step: async ({ paths, truth }, ask) => {
    const { ms } = ((await ask('diagnose', { paths })).object as Report).step;
    return {
      answer: `${ms} ms`,
      right: ms !== null && Math.abs(ms / truth.ms - 1) <= STEP_WITHIN,
    };
  },
  kernel: async ({ paths, truth }, ask) => {
    const query =
      'SELECT name, count(*) AS count, sum(duration_us) AS us FROM kernels GROUP BY name ORDER BY us DESC LIMIT 1';
    const { object } = await ask('sql', { path: paths[0], query });
    const [row] = (object as { rows: [string, number, number][] }).rows;
    const [name, count, us] = row!;
    return {
      answer: `${name.slice(0, 40)}, ${count} ×, ${(us / 1000).toFixed(3)} ms`,
      right:
        name.includes(truth.name) && Number(count) === truth.count && Math.abs(us / 1000 - truth.ms) < 0.001,
    };
  },
};
