import type { Program } from './exchange.js';
import type { Job } from './job.js';
import type { Machine } from './machine.js';
import type { Parallelism } from './options.js';
import { pipeline } from './pipeline.js';
import { ddp, fsdp, mesh2d } from './programs.js';

/** Forward and backward of one step, up to gradients that are the same everywhere. */
type PassProgram = (m: Machine, job: Job) => Program;

const PASSES: Readonly<Record<Parallelism, PassProgram>> = { ddp, fsdp, mesh2d, pipeline, mesh3d: pipeline };

const NEXT_BATCH_US = 120;
const BATCH_COPY_US = 60;
const BATCH_BYTES = 2 << 20;
const OPTIMIZER_KERNEL =
  'void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4>>';

/** What every rank runs. */
export function* train(m: Machine, job: Job): Program {
  const { steps, syncEvery, parallelism } = job.settings;
  for (let step = 0; step < steps; step++) {
    const span = m.beginStep(step);
    const begin = m.mark;
    nextBatch(m);
    busyPython(m, m.faults.hostUs);
    const model = m.mark;
    yield* PASSES[parallelism](m, job);
    optimizer(m, job.work.optimizerUs);
    m.phase('model', null, model);
    const metrics = m.mark;
    if (syncEvery > 0 && step % syncEvery === 0) readLoss(m);
    m.phase('training_metrics', null, metrics);
    m.spend(10);
    m.close(span);
    m.spend(10);
    m.phase('training_step', null, begin);
  }
}

function nextBatch(m: Machine): void {
  const start = m.mark;
  const span = m.open('user_annotation', 'enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__');
  m.spend(NEXT_BATCH_US);
  m.stall(m.faults.dataUs);
  m.close(span);
  m.phase('data_wait', null, start);
  m.spend(10);
  m.pinBatch();
  const copied = m.mark;
  m.copy('Memcpy HtoD (Pinned -> Device)', BATCH_COPY_US, BATCH_BYTES);
  m.phase('host_to_device', null, copied);
}

/** Somebody's code between fetching and training: Python, and small operators on the host. */
function busyPython(m: Machine, us: number): void {
  for (let left = us; left > 0; left -= 1000) {
    const part = Math.min(left, 1000);
    m.stall(part * 0.7);
    const span = m.open('cpu_op', 'aten::cat');
    m.stall(part * 0.3);
    m.close(span);
  }
}

function optimizer(m: Machine, us: number): void {
  const start = m.mark;
  const span = m.open('user_annotation', 'Optimizer.step#AdamW.step');
  m.spend(20);
  m.launch('aten::_fused_adamw_', OPTIMIZER_KERNEL, us);
  m.close(span);
  m.phase('optimizer', null, start);
}

function readLoss(m: Machine): void {
  const span = m.open('cpu_op', 'aten::item');
  m.copy('Memcpy DtoH (Device -> Pageable)', 1.5, 4);
  m.synchronize();
  m.close(span);
}
