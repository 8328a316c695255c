import { Message } from './message.js';

/** Packets of a Perfetto trace, as PyTorch's exporter writes them. */

const packet = (): Message => new Message();
const inTrace = (inner: Message): Buffer => new Message().message(1, inner).finish();
const SEQUENCE = 1;

export function processTrack(uuid: number, pid: number, name: string): Buffer {
  const process = new Message().number(1, pid).text(6, name);
  return inTrace(packet().message(60, new Message().number(1, uuid).message(3, process)));
}

export function threadTrack(uuid: number, parent: number, pid: number, tid: number, name: string): Buffer {
  const thread = new Message().number(1, pid).number(2, tid).text(5, name);
  return inTrace(packet().message(60, new Message().number(1, uuid).message(4, thread).number(5, parent)));
}

export interface Begin {
  readonly ns: bigint;
  readonly track: number;
  /** Of an interned name, or the name itself. */
  readonly name: number | string;
  readonly category?: number;
  readonly flow?: number;
  readonly annotations: readonly Message[];
  /** Ids of the render stages that it launched. */
  readonly launched?: readonly number[];
}

export function begin(b: Begin): Buffer {
  const event = new Message();
  if (b.category) event.number(3, b.category);
  for (const annotation of b.annotations) event.message(4, annotation);
  event.number(9, 1);
  if (typeof b.name === 'number') event.number(10, b.name);
  event.number(11, b.track);
  if (typeof b.name === 'string') event.text(23, b.name);
  if (b.flow) event.fixed64(47, b.flow);
  if (b.launched?.length) {
    const links = new Message();
    for (const id of b.launched) links.number(1, id);
    event.message(3000, links);
  }
  return inTrace(packet().number(8, b.ns).number(10, SEQUENCE).message(11, event).number(13, 2));
}

export const end = (ns: bigint, track: number): Buffer =>
  inTrace(
    packet().number(8, ns).number(10, SEQUENCE).message(11, new Message().number(9, 2).number(11, track)),
  );

/** A DebugAnnotation with the type of the value, as nlohmann::json tells them apart. */
export function annotation(name: string | null, value: unknown, decimal = false): Message {
  const a = new Message();
  if (typeof value === 'boolean') a.number(2, Number(value));
  else if (typeof value === 'bigint') a.number(4, value);
  else if (typeof value === 'number')
    Number.isInteger(value) && !decimal ? a.number(4, value) : a.double(5, value);
  else if (Array.isArray(value)) for (const element of value) a.message(12, annotation(null, element));
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) a.message(11, annotation(key, inner));
  else a.text(6, value === null || value === undefined ? 'null' : String(value));
  if (name !== null) a.text(10, name);
  return a;
}

export interface InternedTables {
  readonly names: readonly string[];
  readonly categories: readonly string[];
  /** Stages and queues. */
  readonly specifications: readonly (readonly [id: number, name: string])[];
  readonly kernels: readonly string[];
  readonly argumentNames: readonly string[];
}

/** Ids count from 1 in each table. */
export function interned(tables: InternedTables): Buffer {
  const data = new Message();
  const entry = (id: number, text: string, field = 2) => new Message().number(1, id).text(field, text);
  for (const [i, name] of tables.categories.entries()) data.message(1, entry(i + 1, name));
  for (const [i, name] of tables.names.entries()) data.message(2, entry(i + 1, name));
  for (const [id, name] of tables.specifications) data.message(24, entry(id, name));
  for (const [i, name] of tables.kernels.entries()) data.message(1000, entry(i + 1, name, 3));
  for (const [i, name] of tables.argumentNames.entries()) data.message(1001, entry(i + 1, name));
  return inTrace(packet().number(10, SEQUENCE).message(12, data).number(13, 1));
}

export interface Stage {
  readonly ns: bigint;
  readonly duration: number;
  readonly id: number;
  readonly gpu: number;
  readonly queue: number;
  readonly stage: number;
  readonly name: number;
  readonly kernel: number;
  readonly grid: readonly number[] | null;
  readonly block: readonly number[] | null;
  readonly registers: number;
  readonly extra: readonly (readonly [name: string, value: string])[];
}

export function renderStage(s: Stage): Buffer {
  const event = new Message().number(1, s.id).number(2, s.duration).number(5, 1);
  for (const [name, value] of s.extra) event.message(6, new Message().text(1, name).text(2, value));
  event.number(11, s.gpu).number(13, s.queue).number(14, s.stage);
  if (s.kernel) event.number(19, s.kernel);
  if (s.name) event.number(20, s.name);
  if (s.grid && s.block) {
    const launch = new Message().message(1, size(s.grid)).message(2, size(s.block));
    if (s.registers) launch.message(3, new Message().number(1, 1).number(4, s.registers));
    event.message(21, launch);
  }
  return inTrace(packet().number(8, s.ns).number(10, SEQUENCE).number(13, 2).message(53, event));
}

function size([x = 0, y = 0, z = 0]: readonly number[]): Message {
  return new Message().number(1, x).number(2, y).number(3, z);
}

export function clock(ns: bigint): Buffer {
  const snapshot = new Message();
  for (const id of [6, 1]) snapshot.message(1, new Message().number(1, id).number(2, ns));
  return inTrace(packet().message(6, snapshot).number(8, ns).number(10, SEQUENCE));
}
