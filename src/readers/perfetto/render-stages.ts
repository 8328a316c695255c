import { fillName, UNTOLD_COPY } from '../common/trace-rows/copy-names.js';
import { type Argument, type ArgumentKeys, CODE, FLAG } from './argument-keys.js';
import { EXTRA, LAUNCH, LAUNCH_ARGUMENT, SIZE, STAGE } from './fields.js';
import type { Interned } from './interned.js';
import type { EventTools } from './track-events.js';
import { MessageReader } from './wire.js';

const PHASE_X = 'X'.charCodeAt(0);

/** Categories by the name of the stage. The last two are nodes of CUDA graphs that are no work. */
const CATEGORIES: Readonly<Record<string, string>> = {
  Kernel: 'kernel',
  Memcpy: 'gpu_memcpy',
  Memset: 'gpu_memset',
  Annotation: 'gpu_user_annotation',
  EventRecord: 'graph_event_node',
  HostNode: 'graph_host_node',
};
const DEVICE: Argument = { code: CODE.device, flags: FLAG.none };
const STREAM: Argument = { code: CODE.stream, flags: FLAG.none };
const GRID: Argument = { code: CODE.grid, flags: FLAG.none };
const BLOCK: Argument = { code: CODE.block, flags: FLAG.none };

/** GpuRenderStageEvents: kernels, copies, fills and annotations of a GPU, each with its own duration. */
export class RenderStageReader {
  readonly #event = new MessageReader();
  readonly #inner = new MessageReader();
  readonly #innermost = new MessageReader();
  readonly #keys: ArgumentKeys;
  readonly #tools: EventTools;
  /** Numbers of the GPUs. */
  readonly gpus = new Set<number>();
  /** Events with a stage that PyTorch has. */
  torchEvents = 0;

  constructor(tools: EventTools, keys: ArgumentKeys) {
    this.#tools = tools;
    this.#keys = keys;
  }

  /** False: it is broken. */
  read(buffer: Uint8Array, from: number, to: number, interned: Interned, at: number): boolean {
    const { row, args, tokens } = this.#tools;
    const event = this.#event.open(buffer, from, to);
    let duration = 0;
    let gpu = 0;
    let queue = Number.NaN;
    let stage = Number.NaN;
    let name = 0;
    let kernel = 0;
    let isWhole = true;
    row.begin();
    args.begin();
    while (event.next()) {
      switch (event.key) {
        case STAGE.duration:
          duration = event.unsigned;
          break;
        case STAGE.gpu:
          gpu = event.signed;
          break;
        case STAGE.queue:
          queue = event.unsigned;
          break;
        case STAGE.stage:
          stage = event.unsigned;
          break;
        case STAGE.nameId:
          name = interned.names.get(event.unsigned) ?? 0;
          break;
        case STAGE.name:
          name = tokens.ofBytes(buffer, event.from, event.to);
          break;
        case STAGE.kernel:
          kernel = interned.kernels.get(event.unsigned) ?? 0;
          break;
        case STAGE.extra:
          isWhole = this.#extra(event) && isWhole;
          break;
        case STAGE.launch:
          isWhole = this.#launch(event, interned) && isWhole;
          break;
      }
    }
    if (event.isBroken || !isWhole) return false;
    const category = CATEGORIES[interned.specifications.get(stage) ?? ''];
    // Stages of games and of other tools.
    if (category === undefined) return true;
    this.torchEvents++;
    this.gpus.add(gpu);
    if (Number.isNaN(args.stream)) args.number(STREAM, streamOf(interned.specifications.get(queue) ?? ''));
    args.number(DEVICE, gpu);
    this.#write(category, name || kernel, gpu, duration, at);
    return true;
  }

  #write(category: string, name: number, gpu: number, duration: number, at: number): void {
    const { row, args, tokens, time, faults } = this.#tools;
    row.phase = PHASE_X;
    row.category = tokens.ofText(category);
    row.pid = tokens.ofNumber(gpu);
    row.tid = tokens.ofNumber(args.stream);
    row.us = time.us;
    row.ns = time.ns;
    row.durUs = Math.floor(duration / 1000);
    row.durNs = duration % 1000;
    row.name = name;
    if (category === 'gpu_memcpy') row.name = tokens.ofText(UNTOLD_COPY);
    else if (category === 'gpu_memset') row.name = tokens.ofText(fillName(args.memoryKind));
    else if (name === 0) faults.add('missing-names', at);
    row.finish();
  }

  /** An argument whose value is a text, whatever it was. */
  #extra(event: MessageReader): boolean {
    const fields = this.#inner.openIn(event);
    let argument: Argument | null = null;
    let from = 0;
    let to = 0;
    while (fields.next()) {
      if (fields.key === EXTRA.name) argument = this.#keys.find(fields.buffer, fields.from, fields.to);
      else if (fields.key === EXTRA.value) [from, to] = [fields.from, fields.to];
    }
    if (argument) this.#tools.args.text(argument, event.buffer, from, to);
    return !fields.isBroken;
  }

  #launch(event: MessageReader, interned: Interned): boolean {
    const fields = this.#inner.openIn(event);
    while (fields.next()) {
      if (fields.key === LAUNCH.grid) this.#size(fields, GRID);
      else if (fields.key === LAUNCH.block) this.#size(fields, BLOCK);
      else if (fields.key === LAUNCH.argument) this.#launchArgument(fields, interned);
    }
    return !fields.isBroken;
  }

  /** `[8, 1, 1]`, as in JSON. */
  #size(launch: MessageReader, argument: Argument): void {
    const fields = this.#innermost.openIn(launch);
    let [x, y, z] = [0, 0, 0];
    while (fields.next()) {
      if (fields.key === SIZE.x) x = fields.unsigned;
      else if (fields.key === SIZE.y) y = fields.unsigned;
      else if (fields.key === SIZE.z) z = fields.unsigned;
    }
    const { tokens, args } = this.#tools;
    args.token(argument, tokens.writer.begin().raw(`[${x}, ${y}, ${z}]`).finish());
  }

  #launchArgument(launch: MessageReader, interned: Interned): void {
    const fields = this.#innermost.openIn(launch);
    let argument: Argument | undefined;
    let value = Number.NaN;
    while (fields.next()) {
      if (fields.key === LAUNCH_ARGUMENT.nameId) argument = interned.launchArguments.get(fields.unsigned);
      else if (fields.key === LAUNCH_ARGUMENT.name)
        argument = this.#keys.find(fields.buffer, fields.from, fields.to);
      else if (fields.key === LAUNCH_ARGUMENT.unsigned || fields.key === LAUNCH_ARGUMENT.int)
        value = fields.signed;
    }
    if (argument && !Number.isNaN(value)) this.#tools.args.number(argument, value);
  }
}

/** `stream 07`, `[07] stream 7`. A lane with a name of its own has the number of its stream in the event. */
function streamOf(queue: string): number {
  const digits = /(?:^|\s)stream (\d{1,9})\s*$/.exec(queue)?.[1] ?? /^\[(\d{1,9})\]/.exec(queue)?.[1];
  return digits === undefined ? 0 : Number(digits);
}
