import { busFactor, type CollectiveKind } from './collective-kinds.js';
import type { Axis, Group, Layout } from './layout.js';
import type { Settings } from './options.js';

/** A kernel of a layer, and the operator that launches it. */
export interface KernelPlan {
  readonly operator: string;
  readonly kernel: string;
  readonly us: number;
}

/** What each rank computes and transfers in a step. */
export interface WorkPlan {
  readonly forward: readonly KernelPlan[];
  readonly backward: readonly KernelPlan[];
  readonly optimizerUs: number;
  /** On the compute stream, a step. */
  readonly computeUs: number;
  /** Bytes of each collective, by axis. */
  readonly bytes: Readonly<Record<Axis, number>>;
  /** Where most of the traffic is: a slow link is one of its groups. */
  readonly bulkAxis: Axis;
}

/** Shares of the step, within what papers on these setups report; all but a layer's part is hidden by computing. */
const DDP_COMMS = 0.35;
const FSDP_COMMS = 0.45;
const TENSOR_COMMS = 0.12;
const MESH_DP_COMMS = 0.2;
const PIPELINE_DP_COMMS = 0.06;
const OPTIMIZER = 0.05;
/** Fetching a batch, copying it, reading the loss, launching the first kernel. */
const FIXED_US = 450;
/** Activations between stages. */
const MESSAGE_BYTES = 16 << 20;

export function planWork(settings: Settings, layout: Layout): WorkPlan {
  const { layers, stages, microBatches, parallelism } = settings;
  const stepUs = settings.stepMs * 1000;
  const optimizerUs = OPTIMIZER * stepUs;
  const free = stepUs - optimizerUs - FIXED_US;
  const bytesFor = (axis: Axis, kind: CollectiveKind, us: number) => bytesIn(slowest(layout, axis), kind, us);
  const none = { world: 0, dp: 0, tp: 0, pp: 0 };
  const plan = (units: number, unitUs: number, bytes: Partial<WorkPlan['bytes']>, bulkAxis: Axis) => {
    const kernels = kernelsPerLayer(settings, units);
    return {
      forward: kernelsOf(FORWARD, kernels, unitUs / 3),
      backward: kernelsOf(BACKWARD, 2 * kernels, (unitUs * 2) / 3),
      optimizerUs,
      computeUs: units * unitUs + optimizerUs,
      bytes: { ...none, ...bytes },
      bulkAxis,
    };
  };
  switch (parallelism) {
    case 'ddp': {
      const each = (DDP_COMMS * stepUs) / layers;
      return plan(layers, (free - each) / layers, { world: bytesFor('world', 'all_reduce', each) }, 'world');
    }
    case 'fsdp': {
      const each = (FSDP_COMMS * stepUs) / layers / 3;
      const world = bytesFor('world', 'all_gather', each);
      return plan(layers, (free - 2 * each) / layers, { world }, 'world');
    }
    case 'mesh2d': {
      const dp = layout.groupOf(0, 'dp') ? (MESH_DP_COMMS * stepUs) / layers : 0;
      const tp = layout.groupOf(0, 'tp') ? (TENSOR_COMMS * stepUs) / layers / 4 : 0;
      const bytes = { dp: bytesFor('dp', 'all_reduce', dp), tp: bytesFor('tp', 'all_reduce', tp) };
      return plan(layers, (free - dp - 4 * layers * tp) / layers, bytes, dp > 0 ? 'dp' : 'tp');
    }
    case 'pipeline':
    case 'mesh3d': {
      const dp = layout.groupOf(0, 'dp') ? PIPELINE_DP_COMMS * stepUs : 0;
      const pp = slowest(layout, 'pp')!;
      const messageUs = pp.latencyUs + MESSAGE_BYTES / pp.bandwidth;
      // A stage receives one message for each forward and each backward, and computes nothing meanwhile.
      const slot = (free - dp) / (microBatches + stages - 1);
      const tp = layout.groupOf(0, 'tp') ? (TENSOR_COMMS * slot) / 4 : 0;
      const unit = slot - 2 * messageUs - 4 * tp;
      const bytes = {
        dp: bytesFor('dp', 'all_reduce', dp),
        tp: bytesFor('tp', 'all_reduce', tp),
        pp: MESSAGE_BYTES,
      };
      return plan(microBatches, unit, bytes, dp > 0 ? 'dp' : 'pp');
    }
  }
}

/** Where hosts are not filled evenly, some groups of an axis stay inside one and others do not. */
function slowest(layout: Layout, axis: Axis): Group | null {
  const groups = layout.groups.filter((g) => g.axis === axis);
  return groups.sort((a, b) => a.bandwidth - b.bandwidth)[0] ?? null;
}

/** As many bytes as take that long, in whole KiB. */
function bytesIn(group: Group | null, kind: CollectiveKind, us: number): number {
  if (!group) return 0;
  const n = group.ranks.length;
  const bytes = (Math.max(1, us - group.latencyUs) * group.bandwidth) / busFactor(kind, n);
  return Math.max(1, Math.round(bytes / 1024 / n)) * 1024 * n;
}

/** Three events a kernel (operator, launch, kernel), three kernels a unit for each of its forward. */
function kernelsPerLayer({ eventsPerStep, parallelism }: Settings, units: number): number {
  // A tensor-parallel layer has two halves.
  const inHalves = parallelism === 'mesh2d' || parallelism === 'mesh3d';
  return Math.max(inHalves ? 2 : 1, Math.floor((eventsPerStep - 30) / units / 9));
}

const GEMM = 'nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT';
const GEMM_BACKWARD = 'nvjet_hsh_256x128_64x4_2x1_v_bz_coopA_NTT';
const ATTENTION =
  'void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>, false, true>(Flash_fwd_params)';
const ATTENTION_BACKWARD =
  'void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8>, false, true>(Flash_bwd_params)';
const ELEMENTWISE =
  'void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)>';

/** Operator, kernel, weight. */
type Template = readonly [string, string, number];
const FORWARD: readonly Template[] = [
  ['aten::mm', GEMM, 5],
  ['aten::_flash_attention_forward', ATTENTION, 3],
  ['aten::mm', GEMM, 4],
  ['aten::gelu', ELEMENTWISE, 1],
];
const BACKWARD: readonly Template[] = [
  ['aten::mm', GEMM_BACKWARD, 5],
  ['aten::mm', GEMM_BACKWARD, 5],
  ['aten::gelu_backward', ELEMENTWISE, 1],
  ['aten::_flash_attention_backward', ATTENTION_BACKWARD, 4],
];

function kernelsOf(templates: readonly Template[], count: number, us: number): KernelPlan[] {
  const chosen = Array.from({ length: count }, (_, i) => templates[i % templates.length]!);
  const weight = chosen.reduce((sum, [, , w]) => sum + w, 0);
  return chosen.map(([operator, kernel, w]) => ({ operator, kernel, us: (us * w) / weight }));
}
