import { hostname } from 'node:os';
import { resolve, sep } from 'node:path';
import { describeSystemError } from '../../base/input-error.js';
import { quoted } from '../../base/printable.js';
import { namedRanks } from '../../base/rank-ranges.js';
import { bytes, formatBytes, formatDuration, seconds } from '../../base/units.js';
import type { ChildEnd } from '../../launch/child.js';
import {
  awaitNodes,
  factsFolder,
  factsOfTraces,
  leaveNote,
  type Place,
  placeOf,
  tracesOf,
} from '../../launch/nodes.js';
import { asTyped } from '../../launch/out-directory.js';
import { type CommandContext, say } from './output.js';
import { progressOn, StatusLine } from './progress.js';

export interface Joined {
  readonly isFirst: boolean;
  /** Facts that other nodes made of their traces in the shared folder, by trace. */
  readonly factsOf: ReadonlyMap<string, string>;
}

interface EndedLaunch {
  readonly out: string;
  readonly launch: string;
  readonly ended: ChildEnd;
  readonly waitS: number;
}

/** Gives what this node measured to the first one, or waits there for the others. Null: the job has one node. Never throws. */
export async function joinNodes(launch: EndedLaunch, context: CommandContext): Promise<Joined | null> {
  const place = await placeOf(launch.out, launch.launch).catch(() => null);
  if (!place || place.elsewhere.length === 0) return null;
  try {
    if (place.isFirst) return await gather(place, launch, context);
    await (place.visible.has(0) ? share : keep)(place, launch, context);
  } catch (error) {
    say(context, `the nodes could not be joined: ${describeSystemError(error)}`);
  }
  return { isFirst: place.isFirst, factsOf: new Map() };
}

async function gather(place: Place, { out, waitS }: EndedLaunch, context: CommandContext): Promise<Joined> {
  const status = new StatusLine(context.stderr);
  const { nodes, missing } = await awaitNodes(place, 1000 * waitS, ({ missing }, ms) => {
    const time = formatDuration(seconds(ms / 1000));
    status.show(`waiting ${time} for the facts of ${namedRanks(missing)}`);
  });
  status.end();
  for (const { host, ranks, failure } of nodes)
    if (failure) say(context, `${namedRanks(ranks)} on ${host}: the command ended with ${failure}`);
  if (missing.length > 0) {
    const limit = formatDuration(seconds(waitS));
    say(context, `no report from the nodes of ${namedRanks(missing)} within ${limit}.`, [
      'The diagnosis below uses what they wrote so far.',
    ]);
  }
  const unseen = place.elsewhere.filter((rank) => !place.visible.has(rank));
  if (unseen.length > 0)
    say(context, `${asTyped(out)} has no files of ${namedRanks(unseen)}.`, [
      'Their nodes use another folder, or they ended before their first step. The diagnosis below',
      'is of the other ranks. To add them, run the command that each of their nodes printed, then:',
      `  whyslow diagnose ${quoted(asTyped(out))}`,
    ]);
  return { isFirst: true, factsOf: await factsOfTraces(out, (rank) => !place.ranks.includes(rank)) };
}

/** The first node sees the same folder: it lacks only small facts of large traces. */
async function share(place: Place, { out, ended }: EndedLaunch, context: CommandContext): Promise<void> {
  const traces = await tracesOf(out, (rank) => place.ranks.includes(rank));
  if (traces.length > 0) {
    await leaveNote(place, ended, false);
    // Without facts the first node reads the traces.
    await makeFacts(traces, out, context).catch(() => null);
  }
  await leaveNote(place, ended, true);
  say(
    context,
    `${namedRanks(place.ranks)}: measured into ${asTyped(out)}; the first node prints the diagnosis`,
  );
}

/** The first node does not see this folder: a person has to copy the facts. */
async function keep(place: Place, { out }: EndedLaunch, context: CommandContext): Promise<void> {
  const { written } = await makeFacts([out], out, context);
  if (written.length === 0) return say(context, `${namedRanks(place.ranks)}: nothing was measured`);
  const size = formatBytes(bytes(written.reduce((sum, file) => sum + file.bytes, 0)));
  const from = `${hostname()}:${quoted(resolve(factsFolder(out)))}`;
  const first = place.firstNode === null ? '' : ` (${place.firstNode})`;
  say(context, `${namedRanks(place.ranks)}: measured into a folder that the first node does not share.`, [
    `To diagnose all ranks, copy the facts (${size}) into its OUT folder. On the first node${first}:`,
    `  scp -r ${from} OUT/from-rank-${place.ranks[0]}`,
    '  whyslow diagnose OUT',
    'With a shared --out and the same --run-id on all nodes, this happens by itself.',
  ]);
}

async function makeFacts(paths: readonly string[], out: string, context: CommandContext) {
  const { facts } = await import('../../library/facts.js');
  const progress = progressOn(context);
  const options = { folder: factsFolder(out), root: out + sep, areFound: true, progress };
  return facts(paths, options).finally(() => progress.end());
}
