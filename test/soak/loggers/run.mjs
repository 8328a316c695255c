// Real transformers, Lightning and Accelerate jobs that log to W&B (offline), MLflow and TensorBoard; what whyslow logged is read
// back. `npm run soak loggers` runs it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environment, must } from '../environment.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const here = fileURLToPath(new URL('.', import.meta.url));
const python = environment('loggers', ['wandb', 'mlflow', 'tensorboard']);

for (const framework of ['transformers', 'lightning', 'accelerate']) {
  const cwd = mkdtempSync(join(tmpdir(), 'whyslow-loggers-'));
  const options = {
    cwd,
    env: {
      ...process.env,
      PYTHONPATH: join(root, 'python/src'),
      OMP_NUM_THREADS: '1',
      WANDB_MODE: 'offline',
      WANDB_SILENT: 'true',
      MLFLOW_TRACKING_URI: `sqlite:///${cwd}/mlflow.db`,
      MLFLOW_DISABLE_TELEMETRY: 'true',
    },
  };
  must(python, [join(here, 'train.py'), framework], options);
  must(python, [join(here, 'read_back.py'), framework], { ...options, stdio: 'inherit' });
  rmSync(cwd, { recursive: true });
}
