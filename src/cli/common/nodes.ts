import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { describeSystemError } from '../../base/input-error.js';
import { namedRanks } from '../../base/rank-ranges.js';
import { bytes, formatBytes, formatDuration, seconds } from '../../base/units.js';
import type { ChildEnd } from '../../launch/child.js';
import { mostBytes } from '../../launch/nodes/address.js';
import { awaitNodes } from '../../launch/nodes/await-nodes.js';
import { writeBundle } from '../../launch/nodes/bundle.js';
import { stateOf } from '../../launch/nodes/node-state.js';
import { leaveNote } from '../../launch/nodes/notes.js';
import { type Place, placeOf } from '../../launch/nodes/place.js';
import { sendFacts } from '../../launch/nodes/send.js';
import { factsFolder, factsOfTraces, tracesOf } from '../../launch/nodes/traces.js';
import { asTyped } from '../../launch/out-directory.js';
import { type CommandContext, say } from './context.js';
import { progressOn } from './progress.js';
import { StatusLine } from './status-line.js';

export interface Joined {
  readonly isFirst: boolean;
  /** How many ranks' measurements came over the network. */
  readonly received: number;
  /** Facts that other nodes made of their traces in the shared folder, by trace. */
  readonly factsOf: ReadonlyMap<string, string>;
}

interface EndedLaunch {
  readonly out: string;
  readonly launch: string;
  readonly ended: ChildEnd;
  readonly waitS: number;
}

/** Hands what this node measured to the first one, or waits there for the others. Null: the job has one node. Never throws. */
export async function joinNodes(launch: EndedLaunch, context: CommandContext): Promise<Joined | null> {
  const place = await placeOf(launch.out, launch.launch).catch(() => null);
  if (!place || place.elsewhere.length === 0) return null;
  try {
    if (place.isFirst) return await gather(place, launch, context);
    await (place.visible.has(0) ? share : send)(place, launch, context);
  } catch (error) {
    say(context, `the nodes could not be joined: ${describeSystemError(error)}`);
  }
  return { isFirst: place.isFirst, received: 0, factsOf: new Map() };
}

async function gather(place: Place, { out, waitS }: EndedLaunch, context: CommandContext): Promise<Joined> {
  const status = new StatusLine(context.stderr);
  const { nodes, missing } = await awaitNodes(place, out, 1000 * waitS, ({ missing }, ms) => {
    const time = formatDuration(seconds(ms / 1000));
    status.show(`waiting for what other nodes measured, ${time} so far: ${namedRanks(missing)}`);
  });
  status.end();
  for (const { host, ranks, failure } of nodes)
    if (failure) say(context, `${namedRanks(ranks)} on ${host}: the command ended with ${failure}`);
  if (missing.length > 0) {
    const limit = formatDuration(seconds(waitS));
    say(
      context,
      `nothing came from ${namedRanks(missing)} within ${limit}: dead, or unable to reach this node.`,
      ['The diagnosis below is of the other ranks.'],
    );
  }
  const isOther = (rank: number) => !place.ranks.includes(rank) && rank >= 0;
  const received = nodes
    .filter((n) => n.isDone)
    .flatMap((n) => n.ranks)
    .filter((rank) => !place.visible.has(rank));
  return { isFirst: true, received: received.length, factsOf: await factsOfTraces(out, isOther) };
}

/** The first node sees the same folder: it lacks only small facts of large traces. */
async function share(place: Place, { out, ended }: EndedLaunch, context: CommandContext): Promise<void> {
  const traces = await tracesOf(out, (rank) => place.ranks.includes(rank));
  if (traces.length > 0) {
    await leaveNote(place, stateOf(place, ended, false));
    // Without facts the first node reads the traces.
    await makeFacts(traces, factsFolder(out), out + sep, context).catch(() => null);
  }
  await leaveNote(place, stateOf(place, ended, true));
  say(
    context,
    `${namedRanks(place.ranks)}: measured into ${asTyped(out)}; the first node prints the diagnosis`,
  );
}

/** How many times as long as the first node waits: the job may end much later there, e.g. with a checkpoint. */
const PATIENCE = 10;

async function send(
  place: Place,
  { out, ended, waitS }: EndedLaunch,
  context: CommandContext,
): Promise<void> {
  const limit = AbortSignal.timeout(1000 * waitS * (ended.code === 0 ? PATIENCE : 1));
  const isMade = new AbortController();
  const announced = sendFacts(place, stateOf(place, ended, false), null, isMade.signal).catch(() => {});
  const folder = await mkdtemp(join(tmpdir(), 'whyslow-node-'));
  const status = new StatusLine(context.stderr);
  try {
    const { written } = await makeFacts([out], folder, undefined, context);
    // If not all fits, telemetry is what a diagnosis can do without.
    const files = written
      .map(({ path }) => ({ path, name: relative(folder, path) }))
      .sort((a, b) => Number(isTelemetry(a.name)) - Number(isTelemetry(b.name)));
    const bundle = join(folder, 'node.tar.gz');
    const { bytes: size, leftOut } = await writeBundle(files, bundle, mostBytes(place.ranks.length));
    if (leftOut.length > 0) say(context, `too large to be sent to the first node: ${leftOut.join(', ')}`);
    isMade.abort();
    await announced;
    status.show(`sending facts to ${place.firstNode}`);
    const why = await sendFacts(place, stateOf(place, ended, true), bundle, limit);
    status.end();
    const facts = `facts of ${namedRanks(place.ranks)} (${formatBytes(bytes(size))})`;
    if (why === null) say(context, `${facts} sent to ${place.firstNode}, which prints the diagnosis`);
    else {
      const kept = join(out, '.whyslow', 'node.tar.gz');
      await copyFile(bundle, kept);
      say(context, `${facts} could not be sent to the first node (${place.firstNode}): ${why}.`, [
        `They are in ${asTyped(kept)}. Copy them there and run: whyslow diagnose OUT node.tar.gz`,
      ]);
    }
  } finally {
    status.end();
    isMade.abort();
    await rm(folder, { recursive: true, force: true });
  }
}

const isTelemetry = (name: string) => name.startsWith('telemetry');

async function makeFacts(
  paths: readonly string[],
  folder: string,
  root: string | undefined,
  context: CommandContext,
) {
  const { facts } = await import('../../library/facts.js');
  const progress = progressOn(context);
  return facts(paths, { folder, root, areFound: true, progress }).finally(() => progress.end());
}
