import { describe, expect, it } from 'vitest';
import { drawTrace } from '../../../test/helpers/draw-trace.js';
import { Trace } from '../../model/trace.js';
import {
  addHostPerStep,
  dropInputWaits,
  removeCalls,
  removeOperators,
  scaleHost,
  scaleWorks,
  skipWaits,
  takeFromLongest,
} from '../../replay/edits.js';
import { copyPlan, LAUNCH, type Plan, SYNC } from '../../replay/plan.js';
import { AS_RECORDED, replay } from '../../replay/replay.js';
import { analyzeTrace } from '../analyze-trace.js';
import { Role } from '../detail/roles.js';

const factsOf = (drawing: string) => analyzeTrace(drawTrace(drawing), { steps: null })!;
const planOf = (drawing: string): Plan => factsOf(drawing).detail!.plan!;
/** Microseconds per step of the edited plan. */
function stepOf(plan: Plan, edit: (copy: Plan) => void = () => {}): number {
  const copy = copyPlan(plan);
  edit(copy);
  return replay(copy, AS_RECORDED).step / 1000;
}
const all = () => true;

/** Input, a matrix product, and a loss that the host reads after 60 µs of work. */
const ONE_STEP = `
  host 1  ProfilerStep#1 0-200 | enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 0-40
  host 1  aten::mm 45-60 | cudaLaunchKernel 50-54 #1
  host 1  aten::item 70-130 | cudaMemcpyAsync 74-78 #2 | cudaStreamSynchronize 80-125 | aten::add 140-150
  host 1  cudaLaunchKernel 142-146 #3
  gpu 7   gemm 56-116 #1 | Memcpy DtoH (Device -> Pinned) 117-119 #2 | add 148-158 #3`;

describe('a plan', () => {
  const plan = planOf(ONE_STEP);
  const { nodes, works } = plan;

  it('a plan has calls in order, with the host time before them', () => {
    expect([...nodes.kind]).toEqual([LAUNCH, LAUNCH, SYNC, LAUNCH]);
    expect([...nodes.data]).toEqual([40_000, 0, 0, 0]);
    expect([...nodes.hostWork]).toEqual([10_000, 20_000, 2_000, 17_000]);
    expect([...nodes.inOperator]).toEqual([5_000, 4_000, 2_000, 2_000]);
    expect([...nodes.events]).toEqual([2, 2, 1, 2]);
    expect(nodes.roles[2]! & Role.reads).toBe(Role.reads);
  });

  it('waits for what came before work that is removed', () => {
    // The read's copy goes, its wait for the product stays.
    const withoutCopy = stepOf(plan, (copy) => scaleWorks(copy, (w) => w === 1, 0));
    expect(withoutCopy).toBeGreaterThan(116 + 17 + 10);
    expect(withoutCopy).toBeLessThan(stepOf(plan));
  });

  it('does not wait for the copy of a call that is removed', () => {
    const blocking = planOf(`
      host 1  ProfilerStep#1 0-300 | cudaLaunchKernel 10-14 #1 | cudaMemcpyAsync 20-130 #2 | cudaLaunchKernel 150-154 #3
      gpu 7   gemm 16-116 #1 | Memcpy DtoH (Device -> Pageable) 118-128 #2 | add 156-160 #3`);
    expect(blocking.nodes.waitsFor[1]).toBe(1);
    expect(stepOf(blocking, (copy) => scaleWorks(copy, (w) => w === 1, 0))).toBeLessThan(116 + 10);
  });

  it('waits for the whole device where memory is freed', () => {
    const freed = planOf(`
      host 1  ProfilerStep#1 0-200 | cudaLaunchKernel 10-14 #1 | cudaStreamSynchronize 20-120 | cudaFree 130-140
      host 1  cudaLaunchKernel 150-154 #2
      gpu 7   gemm 16-116 #1 | add 156-160 #2`);
    expect([...freed.nodes.kind]).toEqual([LAUNCH, SYNC, SYNC, LAUNCH]);
    const isRead = (n: number) => n === 1;
    // The free waits instead of the read: the last kernel starts after the first has ended and the host has gone on.
    expect(stepOf(freed, (copy) => skipWaits(copy, isRead))).toBeGreaterThan(116 + 10 + 4);
    expect(stepOf(freed, (copy) => skipWaits(copy, all))).toBeLessThan(116 + 10);
  });

  it('knows arithmetic on the host: operators of 100 µs or more that call nothing, views left out', () => {
    const { nodes } = planOf(`
      host 1  ProfilerStep#1 0-900 | aten::argmax 10-310 | aten::max 20-300 | aten::view 320-325 | aten::linear 330-530
      host 1  aten::t 340-500 | cudaLaunchKernel 510-520 #1
      gpu 7   gemm 530-540 #1`);
    expect([...nodes.arithmetic]).toEqual([300_000]);
  });

  it('takes tracks of one stream for one stream', () => {
    const twoTracks = `
      host 1  ProfilerStep#1 0-100 | cudaLaunchKernel 10-14 #1 | cudaLaunchKernel 20-24 #2 | cudaLaunchKernel 30-34 #3
      gpu 7   gemm 20-40 #1
      gpu 8   add 30-45 #2
      gpu 9   mul 50-60 #3`;
    const trace = drawTrace(twoTracks);
    const streams = (own: readonly number[]) => {
      const gpu = { ...trace.data.gpu, stream: Int32Array.from(own) };
      const one = new Trace({ ...trace.data, gpu });
      return [...analyzeTrace(one, { steps: null })!.detail!.plan!.works.stream];
    };
    expect(streams([7, 7, 9])).toEqual([0, 0, 1]);
    expect(streams([7, 8, 9])).toEqual([0, 1, 2]);
  });

  it('a plan has the work that each call launched and waited for', () => {
    expect([...nodes.workCount]).toEqual([1, 1, 0, 1]);
    expect([...nodes.firstWork]).toEqual([0, 1, 2, 2]);
    expect([...nodes.awaited]).toEqual([-1, -1, 1, -1]);
    expect([...nodes.queued]).toEqual([0, 1, 2, 0]);
    expect(nodes.returnLag[2]).toBe(6_000);
    expect([...works.duration]).toEqual([60_000, 2_000, 10_000]);
  });

  it('takes as long as was recorded', () => expect(stepOf(plan)).toBe(158));

  it('a plan is null without launches or without host events', () => {
    expect(factsOf('host 1  ProfilerStep#1 0-100 | aten::mm 10-50').detail!.plan).toBeNull();
    expect(factsOf('gpu 7  gemm 0-10').detail).toBeNull();
  });

  it('finds that work waited for another stream', () => {
    const { works } = planOf(`
      host 1  ProfilerStep#1 0-100 | cudaLaunchKernel 10-12 #1 | cudaLaunchKernel 14-16 #2
      gpu 7   gemm 16-60 #1
      gpu 20  ncclDevKernel_AllReduce 62-80 #2`);
    expect([...works.after]).toEqual([-1, 0]);
    expect(works.afterGap[1]).toBe(2_000);
  });

  it('begins with streams busy with earlier work, and takes as long as was recorded', () => {
    const facts = factsOf(`
      host 1  aten::mm 0-10 | cudaLaunchKernel 2-4 #1
      host 1  ProfilerStep#1 10-100 | cudaLaunchKernel 12-14 #2
      gpu 7   gemm 8-50 #1 | gemm 51-70 #2`);
    const plan = facts.detail!.plan!;
    expect(plan.begin).toBe(10_000);
    expect([...plan.streamBusyUntil]).toEqual([50_000]);
    expect(stepOf(plan) * 1000).toBe(facts.steps.recorded);
  });
});

describe('calls that wait for the device', () => {
  const copy = (call: string) => `
    host 1  ProfilerStep#1 0-200 | cudaLaunchKernel 10-12 #1 | cudaMemcpyAsync ${call} #2 | cudaLaunchKernel 130-134 #3
    gpu 7   gemm 16-100 #1 | Memcpy DtoH (Device -> Pageable) 101-111 #2 | add 140-150 #3`;

  it('calls that wait for the device are copies that return when they are done', () => {
    const plan = planOf(copy('20-115'));
    expect([...plan.nodes.waitsFor]).toEqual([-1, 1, -1]);
    expect([plan.nodes.returnLag[1], plan.nodes.call[1]]).toEqual([4_000, 5_000]);
    expect(stepOf(plan)).toBe(150);
    expect(stepOf(plan, (p) => scaleWorks(p, (w) => w === 0, 0.5))).toBe(150 - 42);
  });

  it('calls that wait for the device are not asynchronous copies of pinned memory, even if they seem to end together', () => {
    const pinned = (name: string) =>
      planOf(copy('20-112').replace('Pageable', 'Pinned').replace('cudaMemcpyAsync', name)).nodes.waitsFor;
    expect([...pinned('cudaMemcpyAsync')]).toEqual([-1, -1, -1]);
    expect([...pinned('cudaMemcpy')]).toEqual([-1, 1, -1]);
  });

  it('calls that wait for the device are not events that had already happened, though a kernel ended meanwhile', () => {
    const waits = (call: string) =>
      planOf(`
        host 1  ProfilerStep#1 0-200 | cudaLaunchKernel 10-12 #1 | cudaEventSynchronize ${call}
        gpu 7   gemm 16-100 #1`).nodes.awaited;
    expect([...waits('90-102')]).toEqual([-1, -1]);
    expect([...waits('60-102')]).toEqual([-1, 0]);
  });

  it('calls that wait for the device are not copies that return before', () => {
    expect([...planOf(copy('20-30')).nodes.waitsFor]).toEqual([-1, -1, -1]);
  });

  /** Kernels of 10 µs launched every 1 µs, then a call that lasts. */
  const queue = (launches: number) => {
    const list = (span: (i: number) => string) =>
      Array.from({ length: launches }, (_, i) => span(i)).join(' | ');
    const end = launches + 95;
    return `
      host 1  ProfilerStep#1 0-${end} | ${list((i) => `cudaLaunchKernel ${i}-${i + 0.8} #${i + 1}`)}
      host 1  cudaLaunchKernel ${launches}-${end} #9999
      gpu 7   ${list((i) => `k ${i * 10 + 5}-${i * 10 + 15} #${i + 1}`)} | k ${launches * 10 + 5}-${launches * 10 + 15} #9999`;
  };

  it('calls that wait for the device are launches into a full queue', () => {
    const { nodes } = planOf(queue(600));
    // The call ends at 695 µs. With 5 µs of slack between the clocks, the 69th kernel has ended.
    expect(nodes.waitsFor.at(-1)).toBe(68);
    expect(nodes.call.at(-1)).toBe(5_000);
    expect(nodes.waitsFor.slice(0, -1).every((w) => w === -1)).toBe(true);
  });

  it('calls that wait for the device are launches into a queue that was full before the plan began', () => {
    // The step begins with the last launch.
    const { nodes, earlierEnds } = planOf(
      queue(600).replace('ProfilerStep#1 0-695', 'ProfilerStep#1 599.9-695'),
    );
    expect([nodes.length, earlierEnds.length]).toEqual([1, 541]);
    expect(nodes.queued[0]).toBe(541);
    // Ten of them end until the call returns. 531 are left: it waited for the one before these.
    expect(nodes.waitsFor[0]).toBe(-2 - 531);
    expect(nodes.returnLag[0]).toBe(0);
    expect(nodes.call[0]).toBe(5_000);
  });

  it('calls that wait for the device are not long launches with few queued', () => {
    const { nodes } = planOf(queue(400));
    expect(nodes.waitsFor.at(-1)).toBe(-1);
    expect(nodes.call.at(-1)).toBe(95_000);
  });
});

describe('edits', () => {
  const plan = planOf(ONE_STEP);
  const edited = (edit: (p: Plan) => void) => stepOf(plan, edit);

  it('leave the original alone', () => {
    edited((p) => {
      scaleWorks(p, all, 0);
      removeCalls(p, all);
      dropInputWaits(p);
    });
    expect(stepOf(plan)).toBe(158);
  });

  it('scale work, or remove it', () => {
    expect(edited((p) => scaleWorks(p, (w) => w === 0, 0.5))).toBe(128);
    const without = edited((p) => scaleWorks(p, (w) => w === 0, 0));
    // The host's own calls stay: launch, copy, and 6 µs until it notices the end.
    expect(without).toBe(121);
  });

  it('drop input waits', () => expect(edited(dropInputWaits)).toBe(118));

  it('skip waits of the host', () => {
    // The call itself stays. The last kernel then follows the copy on its stream.
    const step = edited((p) => skipWaits(p, (n) => p.nodes.kind[n] === SYNC));
    expect(step).toBeLessThan(135);
    expect(step).toBeGreaterThanOrEqual(119 + 10);
  });

  it('remove calls with their work and host time', () => {
    expect(edited((p) => removeCalls(p, (n) => n === 3))).toBe(119);
    const read = (n: number) => (plan.nodes.roles[n]! & Role.reads) !== 0;
    expect(edited((p) => removeCalls(p, read))).toBeCloseTo(127, 0);
  });

  it('remove operators, but not the Python before them', () => {
    const read = (n: number) => (plan.nodes.roles[n]! & Role.reads) !== 0;
    const [calls, operators] = [copyPlan(plan), copyPlan(plan)];
    removeCalls(calls, read);
    removeOperators(operators, read);
    expect([calls.nodes.hostWork[1], operators.nodes.hostWork[1]]).toEqual([0, 16_000]);
    expect([...operators.works.duration]).toEqual([60_000, -1, 10_000]);
    expect([...operators.nodes.awaited]).toEqual([-1, -1, -1, -1]);
    // Of the 24 µs of the read, 16 µs of Python stay, with their part of its two events, rounded up.
    expect([calls.nodes.events[1], operators.nodes.events[1]]).toEqual([0, 2]);
  });

  it('scale and add host time', () => {
    expect(edited((p) => scaleHost(p, (n) => n === 3, 2))).toBe(158 + 17);
    expect(edited((p) => addHostPerStep(p, (n) => p.nodes.kind[n] === LAUNCH, 30_000))).toBe(158 + 30);
  });

  it('take time from the longest waits first', () => {
    const column = Float64Array.of(5, 100, 0, 40);
    takeFromLongest(column, 90, 60);
    expect([...column]).toEqual([5, 40, 0, 10]);
    takeFromLongest(column, 1000, 1000);
    expect([...column]).toEqual([0, 0, 0, 0]);
  });
});

describe('steps that launch nothing', () => {
  // Two in a row leave the plan without a call that shows when the second began.
  it('do not break the replay', () => {
    const plan = planOf(`
      host 1  ProfilerStep#1 0-100 | cudaLaunchKernel 15-18 #1 | ProfilerStep#2 100-200 | ProfilerStep#3 200-300
      host 1  ProfilerStep#4 300-400 | cudaLaunchKernel 315-318 #2
      gpu 7   gemm 20-60 #1 | gemm 320-360 #2`);
    expect(stepOf(plan)).toBeCloseTo(100, 0); // from 60 to 360 in three steps
  });
});
