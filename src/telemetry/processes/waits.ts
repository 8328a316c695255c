/** What a thread does at one moment. `poll`: waits for a message, as workers do for work and loops for batches. */
export type WaitKind = 'runs' | 'disk' | 'network' | 'sleep' | 'poll' | 'lock' | 'other';

/** Names of the kernel's functions that a thread sleeps in (`/proc/PID/wchan`), by what they begin with or contain. */
const KINDS: readonly (readonly [WaitKind, RegExp])[] = [
  [
    'disk',
    /io_schedule|folio_wait|wait_on_(?:page|buffer)|bit_wait|blk_|nfs|rpc_wait|fuse|request_wait|ceph|lustre|cl_sync|ext4|xfs|btrfs/,
  ],
  ['network', /sk_wait|tcp_|inet_|unix_stream_(?:data_wait|read)/],
  ['sleep', /nanosleep/],
  ['poll', /poll|select|pipe_(?:read|wait)|skb_wait/],
  ['lock', /futex|do_wait\b|semtimedop/],
];

/** Without a name (`0`, not readable) a sleeping thread is `other`. */
export function waitKind(state: string, waitsIn: string | null): WaitKind {
  if (state === 'R') return 'runs';
  if (state === 'D') return 'disk';
  return KINDS.find(([, names]) => names.test(waitsIn ?? ''))?.[0] ?? 'other';
}
