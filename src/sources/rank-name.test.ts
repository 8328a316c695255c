import { describe, expect, it } from 'vitest';
import { type NameHints, rankFromPath } from './rank-name.js';

const NONE: NameHints = { layout: 'plain', rank: null, step: null, coordinates: null, host: null };

const CASES: readonly (readonly [string, Partial<NameHints>])[] = [
  // ours, d9d
  [
    'out/traces/step_100/rank-3-coord-0-1-1-trace.json.gz',
    { layout: 'whyslow', rank: 3, step: 100, coordinates: [0, 1, 1] },
  ],
  [
    'out/traces/step_100/rank-12-coord-3-trace.tar.gz',
    { layout: 'whyslow', rank: 12, step: 100, coordinates: [3] },
  ],
  ['prof/step_20/rank-7-coord-1-3-trace.tar.gz', { layout: 'd9d', rank: 7, step: 20, coordinates: [1, 3] }],
  ['out/ranks/rank_5.json', { layout: 'whyslow', rank: 5 }],
  ['out/cuda_event_profiler/cuda_events_rank_11.jsonl', { layout: 'events', rank: 11 }],
  // telemetry
  ['out/telemetry/dmon-node-01.txt', { layout: 'telemetry', host: 'node-01' }],
  ['dmon_gpu-a.example.org.txt.gz', { layout: 'telemetry', host: 'gpu-a.example.org' }],
  ['nvidia-smi-query_node7.csv', { layout: 'telemetry', host: 'node7' }],
  ['nvidia-smi-query.csv', { layout: 'telemetry' }],
  ['dmon.txt', { layout: 'telemetry' }],
  ['dmonitor.txt', {}],
  // torchtitan
  ['profiling/traces/iteration_10/rank0_trace.json.gz', { layout: 'torchtitan', rank: 0, step: 10 }],
  ['iteration_10/RANK63_TRACE.JSON', { layout: 'torchtitan', rank: 63, step: 10 }],
  // TensorBoard
  ['log/node-01_4711.1623143089861.pt.trace.json.gz', { layout: 'tensorboard', host: 'node-01' }],
  [
    'log/gpu_a.example.org_4711.1623143089861.pt.trace.json',
    { layout: 'tensorboard', host: 'gpu_a.example.org' },
  ],
  ['log/worker0.1623143089861.pt.trace.json.gz', { layout: 'tensorboard', host: 'worker0' }],
  ['log/rank3.1623143089861.pt.trace.json', { layout: 'tensorboard', rank: 3 }],
  // slime, HTA
  ['train_actor_rank_4.1700000000.pt.trace.json.gz', { layout: 'slime', rank: 4 }],
  ['hta/rank-6.Nov_14_18_35_49.5190.pt.trace.json.gz', { layout: 'hta', rank: 6 }],
  ['rank0.json.gz', { layout: 'hta', rank: 0 }],
  ['rank_1.json', { layout: 'hta', rank: 1 }],
  ['run_rank_31.json', { layout: 'hta', rank: 31 }],
  ['sampled_rank-1.json.gz', { layout: 'hta', rank: 1 }],
  // directories
  ['runs/rank_3/trace.json', { rank: 3 }],
  ['runs/rank3/trace.json', { rank: 3 }],
  ['runs/global_rank_9/deep/er/trace.json', { rank: 9 }],
  ['rank_3/rank_4.json', { layout: 'hta', rank: 4 }],
  ['rank_3\\trace.json', { rank: 3 }],
  ['runs/step_7/rank_2/t.json', { rank: 2, step: 7 }],
  ['rank_2/global_step_40/t.json', { rank: 2, step: 40 }],
  ['t-step-12.json', { step: 12 }],
  // archives: the innermost name first
  ['runs/rank-1-coord-0-1-trace.tar.gz!rank2.json', { layout: 'hta', rank: 2, coordinates: [0, 1] }],
  ['runs/rank5.tar.gz!traces/trace.json', { layout: 'hta', rank: 5 }],
  ['rank_8/a.tar!x/y.json', { rank: 8 }],
  ['a.zip!rank_4/y.json', { rank: 4 }],
  // not the rank of a process
  ['2rank_test.json', {}],
  ['world_rank.json', {}],
  ['prank3.json', {}],
  ['rank.json', {}],
  ['ranks_8.json', {}],
  ['rank3x.json', {}],
  ['rank_20240131.json', {}],
  ['tp_rank_3.json', {}],
  ['local-rank-3.json', {}],
  ['data_parallel_rank_3.json', {}],
  ['lora_rank_16.json', {}],
  ['local_rank_1_rank_9.json', { layout: 'hta', rank: 9 }],
  ['lora-rank16-runs/trace.json', {}],
  ['lora_rank_16/trace.json', {}],
  ['footstep_3.json', {}],
  ['step_2_ablation/trace.json', {}],
  ['trace.json', {}],
  ['stdin', {}],
  ['', {}],
];

describe('rankFromPath', () => {
  it.each(CASES)('%s', (path, hints) => {
    expect(rankFromPath(path)).toEqual({ ...NONE, ...hints });
  });
});
