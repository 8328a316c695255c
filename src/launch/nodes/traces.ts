import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** As layout.py names them. */
const TRACE = /(?:^|[\\/])rank-(\d{1,6})-[^\\/]*trace[^\\/]*\.(?:json|tar)\.gz$/;

/** Where nodes that share a folder put the facts of their traces. `diagnose` skips it: the traces are there as well. */
export const factsFolder = (out: string) => join(out, '.whyslow', 'facts');

/** Traces in the folder of a run, of ranks that pass. */
export async function tracesOf(out: string, isWanted: (rank: number) => boolean): Promise<readonly string[]> {
  const names = await readdir(join(out, 'traces'), { recursive: true }).catch(() => []);
  return names
    .filter((name) => isWanted(Number(TRACE.exec(name)?.[1] ?? Number.NaN)))
    .map((name) => join(out, 'traces', name));
}

/** The facts that other nodes made of their traces, by trace. */
export async function factsOfTraces(
  out: string,
  isWanted: (rank: number) => boolean,
): Promise<ReadonlyMap<string, string>> {
  const pairs = await Promise.all(
    (await tracesOf(out, isWanted)).map(async (trace) => {
      const facts = join(factsFolder(out), `${trace.slice(out.length)}.facts`);
      const [made, of] = await Promise.all([stat(facts).catch(() => null), stat(trace).catch(() => null)]);
      // A later run may have replaced the trace.
      return made?.isFile() && of && made.mtimeMs >= of.mtimeMs ? ([[trace, facts]] as const) : [];
    }),
  );
  return new Map(pairs.flat());
}
