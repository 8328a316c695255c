import { startsGpuWork } from '../../model/gpu-links.js';
import type { RankView } from './rank-view.js';

/**
 * How sure it is that a device worked and the recording does not show it: its activity was off, or all its records were lost.
 * `unread`: its events are there, in a layout that whyslow does not understand. `launched`: calls that start GPU work were
 * recorded. `listed`: the profiler lists a GPU, so the job may use it; it lists those of the machine whether it records them or
 * not. Null: the job has none, or its work was recorded.
 */
export function unseenGpu(view: RankView): 'launched' | 'listed' | 'unread' | null {
  if (view.source === 'log' || view.divided.by === 'log' || view.facts.hasGpuWork) return null;
  const { detail, device, accelerator } = view.facts;
  if (accelerator.unread > 0) return 'unread';
  if (detail?.operators.some(({ name }) => startsGpuWork(name))) return 'launched';
  // Capture knows whether the job uses a GPU.
  if (view.log?.facts.phases.allHost) return null;
  return device === null ? null : 'listed';
}
