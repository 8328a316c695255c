/** Arguments of the events in torture documents. */
import { DECOYS, DIMS, type Member, NON_NUMBERS, type Numbers, type Random } from './torture-values.js';

/** No key comes twice: JSON.parse would show the reference only one. */
export function tortureArgs(random: Random, numbers: Numbers): Member[] {
  const link = () => (random.once(4) ? numbers.id() : numbers.smallId());
  const members: Member[] = [];
  if (!random.once(3)) members.push([random.once(4) ? 'external id' : 'External id', link()]);
  if (random.once(2)) members.push(['correlation', link()]);
  if (!random.once(6)) members.push(...random.pick(GROUPS)(random, numbers));
  if (random.once(4)) members.push(...random.pick(GROUPS)(random, numbers));
  for (let n = random.below(4); n > 0; n--) members.push(random.pick(DECOYS));
  if (random.once(6)) members.push(['blocks per SM', random.pick([...NON_NUMBERS, '1e+20', '3.25'])]);
  return [...new Map(members)];
}

type Group = (random: Random, numbers: Numbers) => Member[];

const gpu: Group = (random, n) => {
  const members: Member[] = [
    ['device', n.signed()],
    ['stream', n.signed()],
    ['queued', '0'],
    ['context', '1'],
    ['grid', random.pick(['[1, 1, 1]', '[128,2,1]', '[ ]'])],
    ['block', '[32, 1, 1]'],
    ['registers per thread', n.id()],
    ['shared memory', n.id()],
    ['graph node id', n.id()],
    ['est. achieved occupancy %', n.float()],
    ['bytes', n.float()],
    ['memory bandwidth (GB/s)', n.float()],
  ];
  return random.shuffled(members).slice(0, 1 + random.below(members.length));
};

const op: Group = (random, n) => [
  ['Sequence number', n.id()],
  ['Fwd thread id', n.smallId()],
  ['Ev Idx', '3'],
  [random.pick(['Input Dims', 'Input dims']), random.pick(DIMS)],
  ['Input type', random.pick(DIMS)],
];

const python: Group = (random, n) => [
  ['Python id', n.smallId()],
  ['Python parent id', random.pick(['null', '12', '18446744073709551615'])],
  ['Python module id', n.id()],
];

const collective: Group = (random, n) => [
  ['Collective name', '"allreduce"'],
  ['dtype', '"Float"'],
  ['Process Group Name', '"0"'],
  ['Process Group Description', '"default_pg"'],
  ['Process Group Ranks', random.pick(['"[0, 1]"', '[0, 1]'])],
  ['Comms Id', '18446744073709551615'],
  ['Is asynchronized op', random.pick(['true', 'false'])],
  ['In split size', '[]'],
  ['Out split size', '"[]"'],
  ['In msg nelems', n.float()],
  ['Out msg nelems', n.float()],
  ['Group size', '8'],
  ['Rank', '0'],
  ['Src Rank', '-1'],
  ['Dst Rank', '3'],
  ['Seq', n.float()],
  ['Global rank start', '0'],
  ['Global rank stride', '1'],
];

const sync: Group = (_, n) => [
  ['cuda_sync_kind', '"Event Sync"'],
  ['wait_on_stream', n.signed()],
  ['wait_on_cuda_event_id', n.signed()],
  ['wait_on_cuda_event_record_corr_id', n.signed()],
];

const memory: Group = (_, n) => [
  ['Bytes', n.float()],
  ['Addr', '140234567890944'],
  ['Total Allocated', n.float()],
  ['Total Reserved', n.float()],
  ['Device Type', n.signed()],
  ['Device Id', n.signed()],
];

const metadata: Group = (random, n) => [
  ['name', random.pick(['"thread 1 (x)"', '"p\\"y"', '"é"'])],
  ['sort_index', n.float()],
  ['labels', '"CPU"'],
];

const GROUPS: readonly Group[] = [gpu, op, python, collective, sync, memory, metadata];
