import { describe, expect, it } from 'vitest';
import { bytesMoved, bytesOfType, elementsOfDims, kindOfName } from './collective-names.js';

describe('kinds by name', () => {
  it.each([
    ['allreduce', 'all_reduce'],
    ['allreduce_coalesced', 'all_reduce'],
    ['_allgather_base', 'all_gather'],
    ['nccl:_all_gather_base', 'all_gather'],
    ['all_gather_into_tensor_coalesced', 'all_gather'],
    ['_reduce_scatter_base', 'reduce_scatter'],
    ['reduce_scatter_tensor_coalesced', 'reduce_scatter'],
    ['all_to_allv', 'all_to_all'],
    ['nccl:all_reduce_barrier', 'barrier'],
    ['gloo:all_reduce', 'all_reduce'],
    ['broadcast', 'broadcast'],
    ['nccl:reduce', 'reduce'],
    ['nccl:send 0->1', 'send'],
    ['nccl:recv 1<-0', 'recv'],
    ['gather', 'gather'],
    ['scatter', 'scatter'],
    ['coalesced', 'other'],
    ['ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)', 'all_reduce'],
    ['ncclKernel_ReduceScatter_RING_LL_Sum_float(ncclDevComm*, unsigned long)', 'reduce_scatter'],
    ['ncclSymkDevKernel_AllGather_LLMC', 'all_gather'],
    ['ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)', 'other'],
    ['ncclDevKernel_Generic_4', 'other'],
    ['void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>', 'all_reduce'],
    ['void deep_ep::intranode::dispatch<8, 768>', 'all_to_all'],
  ])('%s is %s', (name, kind) => {
    expect(kindOfName(name)).toBe(kind);
  });
});

describe('sizes', () => {
  it.each([
    ['Float', 4],
    ['BFloat16', 2],
    ['c10::BFloat16', 2],
    ['c10::Half', 2],
    ['long int', 8],
    ['unsigned char', 1],
    ['Byte', 1],
    ['Float8_e4m3fn', 1],
    ['no such type', Number.NaN],
  ])('an element of %s has %d bytes', (dtype, bytes) => {
    expect(bytesOfType(dtype)).toBe(bytes);
  });

  it.each([
    // Input for reductions, output for gathers.
    ['all_reduce', 100, 100, 400],
    ['reduce_scatter', 800, 100, 3200],
    ['all_gather', 100, 800, 3200],
    ['all_to_all', 100, 120, 400],
    // Some versions write no output. For a gather it is the input of all ranks.
    ['all_gather', 100, Number.NaN, 3200],
    ['all_gather', 100, 0, 3200],
    ['recv', 0, 50, 200],
    ['send', 50, 0, 200],
    ['broadcast', 50, 50, 200],
    ['barrier', 1, 1, Number.NaN],
    ['all_reduce', Number.NaN, Number.NaN, Number.NaN],
  ] as const)('%s of %d in, %d out moves %d', (kind, inElements, outElements, bytes) => {
    expect(bytesMoved(kind, inElements, outElements, 4, 8)).toBe(bytes);
  });

  it('counts the elements of all tensors in a list of dimensions', () => {
    expect(elementsOfDims([[8, 512], [3]])).toBe(4099);
    expect(elementsOfDims([[[4, 2], [5]], []])).toBe(13);
    expect(elementsOfDims('[[8]]')).toBeNaN();
  });
});
