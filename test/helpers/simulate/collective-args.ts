import { type CollectiveKind, KIND_NAMES } from './collective-kinds.js';
import type { Group } from './layout.js';
import { hash01 } from './random.js';

export interface Described {
  readonly group: Group;
  readonly kind: CollectiveKind;
  readonly rank: number;
  /** −1: no message. */
  readonly peer: number;
  readonly elements: readonly [number, number];
  /** One number of four bytes instead of many of two. */
  readonly isScalar: boolean;
}

/** What stays the same from one collective of a stream to the next. */
export interface FixedArgs {
  readonly onBoth: string;
  readonly onHostOnly: string;
  readonly kernel: string;
}

/** Arguments as torch 2.8 writes them, each with a comma before it. The kernel has no `Rank`; a message's is the peer's. */
export function describeCollective({ group, kind, rank, peer, elements, isScalar }: Described): FixedArgs {
  const names = KIND_NAMES[kind];
  const [first, second] = group.ranks;
  const at = group.ranks.indexOf(peer >= 0 ? peer : rank);
  return {
    onBoth: [
      `,"Collective name":"${names.argument}"`,
      `,"In msg nelems":${isScalar ? 1 : elements[0]},"Out msg nelems":${isScalar ? 1 : elements[1]}`,
      `,"Group size":${group.ranks.length},"dtype":"${isScalar ? 'Float' : 'BFloat16'}"`,
      ',"In split size":"[]","Out split size":"[]"',
      `,"Process Group Name":"${group.name}","Process Group Description":"${group.description}"`,
      `,"Process Group Ranks":"${shortened(group.ranks)}"`,
      peer < 0 ? '' : kind === 'send' ? `,"Dst Rank":${peer}` : `,"Src Rank":${peer}`,
    ].join(''),
    onHostOnly: [
      `,"Global rank start":${first},"Global rank stride":${second! - first!}`,
      `,"Rank":${at},"Is asynchronized op":true`,
    ].join(''),
    kernel: isScalar ? names.kernel.replace('_bf16_', '_f32_') : names.kernel,
  };
}

/** `Comms Id` is a hash of group and sequence number: it names one collective, not a communicator. */
export function describeTurn(group: Group, sequence: number, isMessage: boolean): string {
  return `,"Seq":${sequence},"Comms Id":${commsId(group, sequence, isMessage)}`;
}

/** PyTorch shows the first 29 and the last of more than 30. */
function shortened(ranks: readonly number[]): string {
  return ranks.length > 30
    ? `[${ranks.slice(0, 29).join(', ')}, ..., ${ranks.at(-1)}]`
    : `[${ranks.join(', ')}]`;
}

/** 64 bits: more than a double holds. */
function commsId(group: Group, sequence: number, isMessage: boolean): string {
  const part = (n: number) => Math.floor(hash01(sequence, group.index, Number(isMessage), n) * 1e9);
  return `9${String(part(1)).padStart(9, '0')}${String(part(2)).padStart(9, '0')}`;
}
