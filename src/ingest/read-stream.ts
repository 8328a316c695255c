import { InputError } from '../base/input-error.js';
import { ProblemLog } from '../base/problem.js';
import { findReader } from '../readers/registry.js';
import { type DigestWant, digest } from './digest.js';
import { isTraceInput, isUsable, whyNot } from './input.js';
import { assignRanks } from './ranks.js';
import { eachPart, MemberReader } from './read-member.js';
import type { RunInputs } from './read-run.js';

/** One file, as it comes. */
export interface Incoming {
  readonly name: string;
  /** As stored, in bytes. */
  readonly size: number;
  /** What was decoded, outermost first. */
  readonly encodings: readonly string[];
  /** The decoded bytes. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Reads one trace wherever its bytes come from: browsers have no paths. Throws InputError when it is no trace. */
export async function readStream(incoming: Incoming, want: DigestWant): Promise<RunInputs> {
  const { name, size, chunks } = incoming;
  const started = performance.now();
  const stats = {
    storedBytes: size,
    decodedBytes: 0,
    encodings: [...incoming.encodings],
    problems: new ProblemLog(),
  };
  const member = { path: name, name, storedSize: null, stream: { chunks, stats }, extent: null };
  const reader = new MemberReader(member, {}, (head) => traceReader(name, head));
  for await (const chunk of chunks) {
    stats.decodedBytes += chunk.length;
    if (!reader.push(chunk)) break;
  }
  const all = [...eachPart(await reader.finish(name))].map((read) => digest(read, want));
  const traces = all.filter((read) => isUsable(read)).filter((read) => isTraceInput(read));
  if (traces.length === 0)
    throw new InputError(`${name} is no trace: ${whyNot({ error: null, members: all, problems: [] })}`);
  const { ranked, problems } = assignRanks(traces);
  return {
    members: ranked,
    beside: [],
    ignored: [],
    problems,
    runs: [],
    storedBytes: size,
    decodedBytes: stats.decodedBytes,
    seconds: (performance.now() - started) / 1000,
  };
}

/** Everything else means little by itself: it is read together with traces. */
function traceReader(name: string, head: Uint8Array) {
  const found = findReader(head);
  if (found && (!found.line.isTrace || found.readAt))
    throw new InputError(`${name} is no trace but ${found.title}`);
  return found;
}
