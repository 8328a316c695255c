import { oncePer } from '../base/once-per.js';
import type { Accelerator, DeviceKind } from '../facts/accelerator.js';
import { Category } from '../model/category.js';
import type { Trace } from '../model/trace.js';
import { BY_NSYS, RECORDER_FIELD } from '../model/trace-data.js';

/** Which device the trace is of, and how much of it whyslow can read. */
export const acceleratorOf = oncePer((trace: Trace): Accelerator => {
  const { kinds, header } = trace.data;
  const unread = trace.links.work.length > 0 ? 0 : unreadEvents(trace);
  const byNsys = header.rest[RECORDER_FIELD] === BY_NSYS;
  const kind = byNsys ? 'cuda' : kindOf(trace, unread);
  return {
    kind,
    byNsys,
    kernels: kinds.reduce((n, k) => n + (k.category === Category.kernel ? k.events : 0), 0),
    // Kernels and copies of these two are understood. What else is on their tracks does not replace them.
    unread: kind === 'cuda' || kind === 'rocm' ? 0 : unread,
  };
});

/** What gives a device away, surest first. Categories and processes are named by the device's own recorder. */
const BY_CATEGORY: readonly (readonly [DeviceKind, RegExp])[] = [
  ['mtia', /^mtia_/],
  ['xpu', /^xpu_/],
  ['hpu', /^hpu_/],
  ['npu', /^(?:async_npu|HostToDevice)$/],
  ['rocm', /^hip_/],
  ['unknown', /^privateuse1_/],
];
const BY_PROCESS: readonly (readonly [DeviceKind, RegExp])[] = [
  ['npu', /^(?:Ascend Hardware|NPU \d+)$/],
  ['mtia', /^MTIA \d+$/],
  ['xpu', /^XPU \d+$/],
  ['hpu', /^HPU \d+$/],
];
const BY_CALL: readonly (readonly [DeviceKind, RegExp])[] = [
  ['rocm', /^hip[A-Z]/],
  // Moore Threads, Cambricon, Enflame.
  ['unknown', /^(?:mu(?:sa)?|cnrt|tops)[A-Z]/],
  ['cuda', /^cu(?:da)?[A-Z]/],
];
const BY_DEVICE: readonly (readonly [DeviceKind, RegExp])[] = [
  ['rocm', /\bAMD\b|Radeon|Instinct|\bMI\d{2,3}|^gfx\d/i],
  ['npu', /Ascend/i],
  ['xpu', /\bIntel\b/i],
  ['hpu', /Gaudi|^HL-\d/i],
  ['mtia', /MTIA|ARTEMIS/i],
];
const BY_OPERATOR: readonly (readonly [DeviceKind, RegExp])[] = [
  ['mps', /^aten::_?mps_/],
  ['npu', /^(?:npu::|torch_npu::|aten::npu_)/],
  ['hpu', /^hpu::/],
  ['xla', /^(?:xla|torch_xla)::/],
  ['rocm', /^aten::_?miopen_/],
  ['cuda', /^aten::_?cudnn_(?!is_acceptable)/],
];

function kindOf(trace: Trace, unread: number): DeviceKind {
  const { kinds, header } = trace.data;
  const categories = kinds.filter((k) => k.events > 0).map((k) => k.categoryName);
  const devices = header.devices.map((d) => d.name);
  const known =
    first(BY_CATEGORY, categories) ??
    first(
      BY_PROCESS,
      deviceProcesses(trace).map((p) => p.label),
    ) ??
    first(BY_CALL, namesOf(trace, [Category.runtime, Category.driver])) ??
    first(BY_DEVICE, devices);
  if (known) return known;
  if (unread > 0) return 'unknown';
  if (trace.links.work.length > 0 || devices.length > 0) return 'cuda';
  return first(BY_OPERATOR, namesOf(trace, [Category.cpuOp])) ?? 'none';
}

function first(
  table: readonly (readonly [DeviceKind, RegExp])[],
  texts: readonly string[],
): DeviceKind | null {
  return table.find(([, pattern]) => texts.some((text) => pattern.test(text)))?.[0] ?? null;
}

/** Different names of the first rows of these categories. */
function namesOf(trace: Trace, categories: readonly Category[]): readonly string[] {
  const rows = trace.index.ofKinds((k) => k.phase === 'X' && categories.includes(k.category));
  const ids = new Set(rows.subarray(0, MOST_ROWS).map((row) => trace.data.name[row]!));
  return [...ids].map((id) => trace.strings.text(id));
}
const MOST_ROWS = 10_000;

/** Kineto labels processes `CPU`, `GPU 0`, `MTIA 17`. torch_npu names that of the device. */
function deviceProcesses({
  data,
  strings,
}: Trace): readonly { readonly pid: string; readonly label: string }[] {
  const { row, name, labels } = data.metadata;
  return Array.from(row).flatMap((at, i) => {
    const what = strings.text(data.name[at]!);
    const label = strings.text(what === 'process_labels' ? labels[i]! : name[i]!);
    const isDevice =
      (what === 'process_labels' && LABEL.test(label)) ||
      (what === 'process_name' && BY_PROCESS.some(([, pattern]) => pattern.test(label)));
    return isDevice ? [{ pid: data.tracks[data.track[at]!]!.pid, label }] : [];
  });
}
const LABEL = /^(?!CPU\b)[A-Za-z]\w* \d+$/;

/** Spans in categories that whyslow does not know, in the processes of devices or with the names of their recorders. */
function unreadEvents(trace: Trace): number {
  const { data } = trace;
  const pids = new Set(deviceProcesses(trace).map((p) => p.pid));
  const isDevice = data.tracks.map(({ pid }) => pids.has(pid));
  const isNamed = data.kinds.map((k) => BY_CATEGORY.some(([, pattern]) => pattern.test(k.categoryName)));
  const rows = trace.index.ofKinds((k) => k.phase === 'X' && k.category === Category.other);
  return rows.reduce((n, row) => n + Number(isDevice[data.track[row]!] || isNamed[data.kind[row]!]), 0);
}
