import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { ShardScanner } from '../readers/kineto/shard-scanner.js';
import { BlockInflater } from '../sources/block-inflater.js';
import { type BlockTask, type FromBlockThread, JOINED, MOST_AHEAD, NEXT } from './block-messages.js';
import { buffersOf } from './transfer.js';

/** One of several threads that inflate and scan the blocks of one file. Each takes the next block that nobody has taken. */

const { fd, blocks, counters } = workerData as BlockTask;
const count = blocks.starts.length - 1;
const inflater = BlockInflater.create(fd, blocks)!;
let scanner: ShardScanner | null = null;
/** Memory that the reader has sent back. Fresh memory costs page faults here and garbage collections there. */
const spare: ArrayBuffer[] = [];

function allocate(bytes: number): ArrayBuffer {
  for (let back = receiveMessageOnPort(parentPort!); back; back = receiveMessageOnPort(parentPort!))
    spare.push(back.message as ArrayBuffer);
  const memory = spare.pop();
  // A little more, so that it will do for the next block, too.
  return memory && memory.byteLength >= bytes ? memory : new ArrayBuffer(Math.ceil(bytes * 1.25));
}

function take(): number {
  const block = Atomics.add(counters, NEXT, 1);
  const least = block - MOST_AHEAD;
  for (
    let n = Atomics.load(counters, JOINED);
    n <= least && block < count;
    n = Atomics.load(counters, JOINED)
  )
    Atomics.wait(counters, JOINED, n);
  return block;
}

function readBlock(block: number): FromBlockThread['read'] {
  try {
    scanner ??= ShardScanner.create(allocate);
    if (!scanner) return 'bad';
    inflater.open(block);
    const shard = scanner.scan((into) => inflater.read(into));
    if (shard === null || scanner.isLarge) scanner = null;
    return shard ?? 'odd';
  } catch {
    // Found again, and told, by whoever reads the file in order.
    return 'bad';
  }
}

for (let block = take(); block < count; block = take()) {
  const read = readBlock(block);
  parentPort!.postMessage({ block, read } satisfies FromBlockThread, buffersOf(read));
  if (read === 'bad') break;
}
