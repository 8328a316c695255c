import { bigint, flag, list, nullable, number, object, table, text, whole } from '../../base/shape.js';
import type { DeviceInfo, DistributedInfo, ProcessGroup } from '../../model/trace-data.js';
import type { RecordedProcess } from '../recorded-process.js';
import type { CategoryCount, StepSummary, TimeWindow, TraceSummary } from '../trace-summary.js';

export const deviceShape = object<DeviceInfo>({
  id: number(),
  name: text,
  totalMemory: nullable(number()),
  computeMajor: nullable(number()),
  computeMinor: nullable(number()),
  multiprocessors: nullable(number()),
  warpSize: nullable(number()),
});

const processGroupShape = object<ProcessGroup>({
  name: text,
  description: nullable(text),
  backend: nullable(text),
  size: nullable(number()),
  ranks: list(whole()),
});

const distributedShape = object<DistributedInfo>({
  backend: nullable(text),
  rank: nullable(whole()),
  worldSize: nullable(whole()),
  ncclVersion: nullable(text),
  groups: list(processGroupShape),
});

export const summaryShape = object<TraceSummary>({
  events: whole(),
  rows: whole(),
  categories: list(object<CategoryCount>({ phase: text, category: text, events: whole() })),
  devices: list(deviceShape),
  distributed: nullable(distributedShape),
  hostName: nullable(text),
  run: nullable(text),
  versions: table(text),
  switches: list(text),
  steps: list(object<StepSummary>({ index: number(), hostMs: number() })),
  gpuWork: whole(),
  streams: whole(),
  tracks: whole(),
  strings: whole(),
  window: object<TimeWindow>({ ms: number(), startNs: nullable(bigint), endNs: nullable(bigint) }),
  process: object<RecordedProcess>({ pid: nullable(text), wasAttached: nullable(flag) }),
});
