/** A span of the host or a piece of GPU work, in true µs. */
export interface Span {
  readonly category: 'cpu_op' | 'user_annotation' | 'cuda_runtime' | 'kernel' | 'gpu_memcpy';
  readonly name: string;
  /** Thread, or stream of GPU work. */
  readonly track: number;
  readonly start: number;
  end: number;
  readonly external: number;
  /** 0: none. */
  readonly correlation: number;
  /** Further arguments as JSON, each with a comma before it. */
  readonly args: string;
}

/** When the host records a mark, and when the compute stream reaches it. True µs. */
export interface Moment {
  readonly host: number;
  readonly device: number;
}

/** What a training loop times of itself: records of an events log. */
export interface Phase {
  readonly name: string;
  readonly step: number;
  /** Micro-batch. For collectives: their number within the step, by kind. */
  readonly micro: number | null;
  readonly from: Moment;
  readonly to: Moment;
}

/** What a profiler would see of one rank. */
export class Recording {
  readonly spans: Span[] = [];
  readonly phases: Phase[] = [];
  /** End of the last GPU work that each step launched. */
  readonly frontiers: number[];
  #ids = 0;
  #calls = 0;

  constructor(
    steps: number,
    readonly on: boolean,
  ) {
    this.frontiers = new Array<number>(steps).fill(Number.NEGATIVE_INFINITY);
  }

  host(category: Span['category'], name: string, track: number, start: number, args: string): Span {
    const external = ++this.#ids;
    return this.#add({ category, name, track, start, end: start, external, correlation: 0, args });
  }

  call(name: string, track: number, start: number, operator: Span | null): Span {
    const external = operator?.external ?? 0;
    const correlation = ++this.#calls;
    return this.#add({
      category: 'cuda_runtime',
      name,
      track,
      start,
      end: start,
      external,
      correlation,
      args: '',
    });
  }

  work(
    category: Span['category'],
    name: string,
    track: number,
    start: number,
    call: Span,
    args: string,
  ): Span {
    const { external, correlation } = call;
    return this.#add({ category, name, track, start, end: start, external, correlation, args });
  }

  phase(phase: Phase): void {
    if (this.on) this.phases.push(phase);
  }

  #add(span: Span): Span {
    if (this.on) this.spans.push(span);
    return span;
  }
}
