/** Which kind of device a job computes on. `unknown`: one that is none of the others. `none`: only the CPU, as far as is known. */
export const DEVICE_KINDS = [
  'cuda',
  'rocm',
  'xpu',
  'npu',
  'mtia',
  'hpu',
  'xla',
  'mps',
  'unknown',
  'none',
] as const;
export type DeviceKind = (typeof DEVICE_KINDS)[number];

/** The device of a recording, and how much of it the recording shows. */
export interface Accelerator {
  readonly kind: DeviceKind;
  /** Recorded by Nsight Systems, not by PyTorch's profiler. */
  readonly byNsys: boolean;
  /** Kernels in the whole file. */
  readonly kernels: number;
  /** Events of the device in a layout that whyslow does not understand, if it understands none of them. */
  readonly unread: number;
}

interface DeviceWords {
  readonly name: string;
  /** The activity that records it, for `torch.profiler.profile(activities=[…])`. PyTorch calls AMD's GPUs CUDA too. */
  readonly activity: string | null;
  /** The vendor's own tool, which shows what torch.profiler does not. */
  readonly tool: string | null;
}

const WORDS: Readonly<Record<DeviceKind, DeviceWords>> = {
  cuda: { name: 'an NVIDIA GPU', activity: 'ProfilerActivity.CUDA', tool: 'Nsight Systems (nsys)' },
  rocm: { name: 'an AMD GPU', activity: 'ProfilerActivity.CUDA', tool: 'rocprofv3' },
  xpu: { name: 'an Intel GPU', activity: 'ProfilerActivity.XPU', tool: 'VTune' },
  npu: {
    name: 'an Ascend NPU',
    activity: 'torch_npu.profiler.ProfilerActivity.NPU',
    tool: 'MindStudio Insight',
  },
  mtia: { name: 'an MTIA accelerator', activity: 'ProfilerActivity.MTIA', tool: null },
  hpu: { name: 'a Gaudi accelerator', activity: 'ProfilerActivity.HPU', tool: 'the Gaudi profiler' },
  xla: { name: 'an XLA device, such as a TPU', activity: null, tool: 'XProf' },
  mps: { name: 'an Apple GPU', activity: null, tool: 'Instruments (torch.mps.profiler)' },
  unknown: { name: 'an accelerator', activity: null, tool: null },
  // A device that the recording does not show is most likely NVIDIA's.
  none: { name: 'no device', activity: 'ProfilerActivity.CUDA', tool: 'Nsight Systems (nsys)' },
};

export const deviceName = (kind: DeviceKind): string => WORDS[kind].name;

/** The tool of the device's vendor. Null: there is none, or it is not known. */
export const vendorTool = (kind: DeviceKind): string | null => WORDS[kind].tool;

/** What to record so that both the host and the device are in the trace. */
export function recordBoth(kind: DeviceKind): string {
  const { name, activity, tool } = WORDS[kind];
  if (activity === null && tool !== null)
    return `record with ${tool}: torch.profiler does not record ${name}`;
  return `record with ProfilerActivity.CPU and ${activity ?? 'the activity of the accelerator'}`;
}

/** What settles that nothing of the device can be judged, because its events are not understood. */
export function insteadOfUnread(kind: DeviceKind): string {
  const tool = WORDS[kind].tool;
  return tool === null
    ? 'look at the device’s time in its vendor’s own tools'
    : `look at the device’s time in ${tool}`;
}

/** Whether torch.profiler can record its work. */
export const isRecordable = (kind: DeviceKind): boolean => WORDS[kind].activity !== null;

/** Code of the problem that a recording of Nsight Systems has no kernels. */
export const NO_KERNELS = 'no-kernels';

/** How to get kernels into a recording of Nsight Systems. */
export const RECORD_KERNELS =
  'record again with `nsys profile -t cuda,nvtx,osrt -o report COMMAND`, and check that the recorded process computes on a GPU';

/** What was recorded and with what, as far as advice on a better recording depends on it. */
export interface Recorded {
  readonly byNsys: boolean;
  /** It runs PyTorch. */
  readonly torch: boolean;
  /** An engine serves a model, and requests start and stop its profiler. */
  readonly ownProfiler: boolean;
}

const BY_ENGINE =
  'record several requests, after the first ones, with the engine’s own profiler (vLLM and SGLang: /start_profile)';

/** How to mark steps in a recording. */
export function markSteps({ byNsys, torch, ownProfiler }: Recorded): string {
  if (!torch) return 'put each step into an NVTX range (nvtxRangePush, nvtxRangePop)';
  if (byNsys) return 'put each step into `with torch.cuda.nvtx.range("step")`';
  return ownProfiler ? BY_ENGINE : 'call profiler.step() once per iteration';
}

/** How to record steps as they are after start-up. `what`: which steps. */
export function recordSteps(what: string, { byNsys, torch, ownProfiler }: Recorded): string {
  if (byNsys || !torch)
    return `record ${what}: nsys profile --delay SECONDS --duration SECONDS, or --capture-range=cudaProfilerApi`;
  return ownProfiler ? BY_ENGINE : `record ${what}: schedule(wait=5, warmup=3, active=6)`;
}
