import { NONE, remedy } from '../kit/remedy.js';

/** What to do when a job that ran well gets slower in mid-run: it is not known yet what is wrong, but where, and since when. */

const SAME = 'Compare step times before and after.';

export const findInputChange = remedy({
  id: 'find-input-change',
  title: 'the input as fast as it was',
  cost: 'code',
  risk: 'none',
  check: SAME,
  text: 'Look at what the input comes from since then: other files, a slower store, a cache that is full, other transforms.',
  plain: { lines: ['py-spy dump --pid <worker process>   # while it is slow', 'iostat -x 1; nfsiostat 1'] },
  usual: NONE,
});

export const findCopyChange = remedy({
  id: 'find-copy-change',
  title: 'copies as fast as they were',
  cost: 'code',
  risk: 'none',
  check: SAME,
  text: 'Look at what is copied to the device since then: larger batches, or memory that is no longer pinned.',
  plain: { lines: ['DataLoader(..., pin_memory=True); batch.to(device, non_blocking=True)'] },
  usual: NONE,
});

export const findNetworkChange = remedy({
  id: 'find-network-change',
  title: 'links as fast as they were',
  cost: 'hardware',
  risk: 'none',
  check: SAME,
  text: 'No rank is late, so the links are slower: look for other traffic since then, and test them.',
  plain: { lines: ['nvidia-smi nvlink -e; ibstat; dmesg | grep -i -E "nvlink|mlx|xid"'] },
  usual: NONE,
});

export const findHostChange = remedy({
  id: 'find-host-change',
  title: 'the loop as fast as it was',
  cost: 'code',
  risk: 'none',
  check: SAME,
  text: 'Look at what the loop does outside of the model since then: lists that grow, logging, callbacks, saving.',
  plain: { lines: ['py-spy record --pid <training process> --duration 30 -o now.svg'] },
  usual: NONE,
});

export const compareWindows = remedy({
  id: 'compare-windows',
  title: 'a profiler window from before compared with one from now',
  cost: 'free',
  risk: 'none',
  check: 'Nothing in the training changes.',
  text: 'Record a profiler window now and compare it with the one from the start of the run.',
  plain: { lines: ['whyslow capture OUT', 'whyslow compare OLD-TRACE NEW-TRACE'] },
  usual: NONE,
});

export const collectLess = remedy({
  id: 'collect-less',
  title: 'fewer objects for Python’s garbage collector to look through',
  cost: 'code',
  risk: 'memory',
  check: 'Watch the host’s memory: reference cycles live until the next collection.',
  text: 'Objects pile up, and every collection looks through all of them. Keep no history in lists or dicts; freeze what must stay, and collect less often.',
  plain: { lines: ['gc.collect(); gc.freeze()   # what is there now is not looked through again'] },
  usual: NONE,
});

export const boundMemory = remedy({
  id: 'bound-memory',
  title: 'memory that does not grow',
  cost: 'code',
  risk: 'none',
  check: 'The resident memory of the process stays the same over a few hundred steps.',
  text: 'Find what grows: keep loss.item() and not loss, and bound caches, queues and lists of results.',
  plain: {
    lines: [
      'tracemalloc.start()                                  # at the start',
      'earlier = tracemalloc.take_snapshot()                # after 100 steps',
      'tracemalloc.take_snapshot().compare_to(earlier, "lineno")[:10]   # later',
    ],
  },
  usual: NONE,
});

export const moveNeighbors = remedy({
  id: 'move-neighbors',
  title: 'cores that no other program uses',
  cost: 'hardware',
  risk: 'none',
  check: SAME,
  text: 'Other programs use the cores of this job: find them, and move them or the job, or reserve cores for it.',
  plain: { lines: ['top -o %CPU      # on that host', 'numactl --cpunodebind=0 --membind=0 <the job>'] },
  usual: NONE,
});

export const stopOwnThread = remedy({
  id: 'stop-own-thread',
  title: 'the thread stopped, or moved to a process of its own',
  cost: 'code',
  risk: 'none',
  check: SAME,
  text: 'A thread of the job itself began to use a core, and holds Python’s lock meanwhile. Find it, and let it wait for events, or run in a process of its own at a low priority.',
  plain: { lines: ['py-spy dump --pid <training process>   # names the thread and its line'] },
  usual: NONE,
});
