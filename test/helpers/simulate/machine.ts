import { describeCollective, describeTurn, type FixedArgs } from './collective-args.js';
import { type CollectiveKind, elementsOf, KIND_NAMES } from './collective-kinds.js';
import type { Exchange, Meeting } from './exchange.js';
import type { StepFaults } from './faults.js';
import type { Group } from './layout.js';
import { hash01, Random } from './random.js';
import { type Moment, Recording, type Span } from './recording.js';

/** Threads, and the stream that computes. */
const MAIN = 0;
const AUTOGRAD = 1;
const LOADER = 2;
const COMPUTE_STREAM = 7;
/** PyTorch takes streams for communicators from a pool; any number will do. */
const FIRST_COMMS_STREAM = 20;

/** Launch latency on an idle device, and the gap between kernels of a stream; measured on the zoo's H200. */
const LAUNCH_LATENCY_US = 6;
const KERNEL_GAP_US = 1.2;
const OPERATOR_US = 5;
const LAUNCH_US = 6;
const PIN_CHECK_US = 1;

const UNDESCRIBED = { onHost: '', onDevice: '', kernel: '' };

interface CommsStream {
  readonly id: number;
  turn: number;
  last: Meeting | null;
  /** By kind and size. */
  readonly args: Map<string, FixedArgs>;
}

interface Unfinished {
  readonly span: Span;
  readonly meeting: Meeting;
  readonly step: number;
}

/** One rank: a host that runs its program and launches, a GPU with a stream for computing and one a communicator. */
export class Machine {
  /** The host's current time, true µs. */
  now = 0;
  readonly recording: Recording;
  faults: StepFaults;
  step = -1;
  #thread = MAIN;
  #computeEnd = 0;
  readonly #random: Random;
  readonly #gpuFactor: number;
  readonly #streams = new Map<string, CommsStream>();
  readonly #messages = new Map<number, number>();
  readonly #unfinished: Unfinished[] = [];

  constructor(
    readonly rank: number,
    readonly exchange: Exchange,
    record: boolean,
  ) {
    const { seed, startSkewMs, gpuSpread, steps } = exchange.settings;
    this.#random = new Random(seed, rank);
    this.#gpuFactor = Math.exp(gpuSpread * this.#random.normal());
    // Profilers start one after the other: this rank's own start holds it up.
    this.now = hash01(seed, rank, 5) * (startSkewMs * 1000 + 50);
    this.#computeEnd = this.now;
    this.faults = exchange.faults.of(rank, 0);
    this.recording = new Recording(steps, record);
  }

  /** When a CUDA event recorded now would complete on the compute stream. */
  get mark(): Moment {
    return { host: this.now, device: Math.max(this.now, this.#computeEnd) };
  }

  phase(name: string, micro: number | null, from: Moment, to = this.mark): void {
    this.recording.phase({ name, step: this.step, micro, from, to });
  }

  beginStep(step: number): Span {
    this.step = step;
    this.faults = this.exchange.faults.of(this.rank, step);
    return this.open('user_annotation', `ProfilerStep#${step}`);
  }

  /** Work on the host, µs, with the jitter of hosts. */
  spend(us: number): void {
    this.now += us * this.#random.lognormal(Math.min(0.5, 10 * this.exchange.settings.noise));
  }

  /** Time without jitter. */
  stall(us: number): void {
    this.now += us;
  }

  open(category: Span['category'], name: string, args = ''): Span {
    return this.recording.host(category, name, this.#thread, this.now, args);
  }

  close(span: Span): void {
    span.end = this.now;
  }

  /** The backward pass has a thread of its own. */
  inBackward(begin: boolean): void {
    this.#thread = begin ? AUTOGRAD : MAIN;
    this.spend(15);
  }

  launch(operator: string, kernel: string, us: number): void {
    const span = this.open('cpu_op', operator);
    this.spend(OPERATOR_US);
    const called = this.#call('cudaLaunchKernel', span);
    const { noise } = this.exchange.settings;
    const length = us * this.#gpuFactor * this.faults.kernelFactor * this.#random.lognormal(noise);
    this.#compute('kernel', kernel, called, length, '');
    this.spend(OPERATOR_US / 2);
    this.close(span);
  }

  copy(name: string, us: number, bytes: number): void {
    const called = this.#call('cudaMemcpyAsync', null);
    const bandwidth = (bytes / us / 1000).toFixed(3);
    this.#compute('gpu_memcpy', name, called, us, `,"bytes":${bytes},"memory bandwidth (GB/s)":${bandwidth}`);
  }

  /** The loader's own thread pins the next batch, which has arrived. */
  pinBatch(): void {
    const call = this.recording.call('cudaPointerGetAttributes', LOADER, this.now, null);
    call.end = this.now + PIN_CHECK_US;
  }

  /** The host waits for the compute stream. */
  synchronize(): void {
    const call = this.recording.call('cudaStreamSynchronize', this.#thread, this.now, null);
    this.now = Math.max(this.now, this.#computeEnd);
    this.spend(4);
    this.close(call);
  }

  /** Starts a collective, or one side of a message, after the compute work launched so far. */
  *collective(
    group: Group,
    kind: CollectiveKind,
    bytes: number,
    share: number,
    peer = -1,
  ): Generator<Meeting, Meeting, void> {
    const stream = this.#streamFor(group, kind, peer);
    if (stream.last) yield* this.#ended(stream.last);
    const span = this.open('cpu_op', KIND_NAMES[kind].operator);
    this.spend(OPERATOR_US);
    const args = this.#describe(group, kind, bytes, stream, peer);
    const detail = this.open('cpu_op', 'record_param_comms', args.onHost);
    const annotation = this.open('user_annotation', KIND_NAMES[kind].span);
    this.spend(OPERATOR_US);
    const call = this.#call('cudaLaunchKernelExC', detail);
    for (const s of [annotation, detail, span]) this.close(s);
    const free = stream.last ? this.exchange.endFor(stream.last, this.rank) + KERNEL_GAP_US : 0;
    const start = Math.max(call.start + LAUNCH_LATENCY_US, free, this.#computeEnd + KERNEL_GAP_US);
    const isMessage = peer >= 0;
    const pair = kind === 'recv' ? ([peer, this.rank] as const) : ([this.rank, peer] as const);
    const arrival = { rank: this.rank, start, step: this.step, turn: stream.turn++ };
    const transfer = { kind: isMessage ? ('send' as const) : kind, bytes, share };
    const meeting = this.exchange.arrive(arrival, group, transfer, isMessage ? pair : undefined);
    const kernel = this.recording.work('kernel', args.kernel, stream.id, start, call, args.onDevice);
    this.#unfinished.push({ span: kernel, meeting, step: this.step });
    stream.last = meeting;
    return meeting;
  }

  /** Work launched from now on waits for the collective; the host does not. */
  *after(meeting: Meeting): Generator<Meeting, void, void> {
    yield* this.#ended(meeting);
    const from = this.mark;
    this.#computeEnd = Math.max(this.#computeEnd, this.exchange.endFor(meeting, this.rank));
    this.phase(`collective:${meeting.kind}`, null, from);
  }

  /** The ends of collectives, once all are known. */
  finish(): void {
    const { frontiers } = this.recording;
    for (const { span, meeting, step } of this.#unfinished) {
      span.end = this.exchange.endFor(meeting, this.rank);
      frontiers[step] = Math.max(frontiers[step]!, span.end);
    }
  }

  *#ended(meeting: Meeting): Generator<Meeting, void, void> {
    while (Number.isNaN(meeting.end)) yield meeting;
  }

  #call(name: string, operator: Span | null): Span {
    const call = this.recording.call(name, this.#thread, this.now, operator);
    this.spend(LAUNCH_US);
    this.close(call);
    return call;
  }

  #compute(category: Span['category'], name: string, call: Span, us: number, args: string): void {
    const start = Math.max(call.start + LAUNCH_LATENCY_US, this.#computeEnd + KERNEL_GAP_US);
    this.#computeEnd = start + us;
    this.recording.work(category, name, COMPUTE_STREAM, start, call, args).end = this.#computeEnd;
    const { frontiers } = this.recording;
    frontiers[this.step] = Math.max(frontiers[this.step]!, this.#computeEnd);
  }

  /** Each direction of a pair has its own stream, as with batched messages, so neither blocks the other. */
  #streamFor(group: Group, kind: CollectiveKind, peer: number): CommsStream {
    const key = peer < 0 ? `${group.index}` : `${group.index} ${kind} ${peer}`;
    let stream = this.#streams.get(key);
    if (!stream) {
      stream = { id: FIRST_COMMS_STREAM + 4 * this.#streams.size, turn: 0, last: null, args: new Map() };
      this.#streams.set(key, stream);
    }
    return stream;
  }

  #describe(group: Group, kind: CollectiveKind, bytes: number, stream: CommsStream, peer: number) {
    if (!this.recording.on) return UNDESCRIBED;
    // Counted since the job began, not since the profiler did.
    const { seed, withoutSeq } = this.exchange.settings;
    let sequence = Math.floor(5000 * hash01(seed, group.index, 21)) + stream.turn + 1;
    if (peer >= 0) {
      // PyTorch counts messages by group and not by pair: a sender and its receiver count differently.
      const before = this.#messages.get(group.index) ?? Math.floor(5000 * hash01(seed, this.rank, 22));
      sequence = before + 1;
      this.#messages.set(group.index, sequence);
    }
    const key = `${kind} ${bytes}`;
    let fixed = stream.args.get(key);
    if (!fixed) {
      const elements = elementsOf(kind, bytes, group.ranks.length);
      fixed = describeCollective({ group, kind, rank: this.rank, peer, elements, isScalar: bytes <= 4 });
      stream.args.set(key, fixed);
    }
    const turn = withoutSeq ? '' : describeTurn(group, sequence, peer >= 0);
    const onDevice = `${fixed.onBoth}${turn}`;
    return { onDevice, onHost: `${onDevice}${fixed.onHostOnly}`, kernel: fixed.kernel };
  }
}
