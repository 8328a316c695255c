// Real transformers, Lightning and Accelerate jobs that log to W&B (offline), MLflow and TensorBoard; what whyslow logged is read
// back. `npm run soak loggers` runs it. It installs W&B and MLflow into an environment of its own, next to the packages of .venv.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const here = fileURLToPath(new URL('.', import.meta.url));
const env = join(root, '.build/loggers');
const python = join(env, 'bin/python');

if (!existsSync(join(env, 'ready'))) {
  must('python3', ['-m', 'venv', '--clear', env]);
  const packages = (folder) => {
    const lib = join(folder, 'lib');
    return join(
      lib,
      readdirSync(lib).find((name) => name.startsWith('python3')),
      'site-packages',
    );
  };
  writeFileSync(join(packages(env), 'venv.pth'), `${packages(join(root, '.venv'))}\n`);
  must(python, ['-m', 'pip', 'install', '--quiet', 'wandb', 'mlflow', 'tensorboard']);
  writeFileSync(join(env, 'ready'), '');
}
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

function must(program, args, options = {}) {
  const ran = spawnSync(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    timeout: 300_000,
    ...options,
  });
  if (ran.status === 0) return;
  console.error(
    `${program} ${args.join(' ')}: ${ran.error?.message ?? `${ran.stdout ?? ''}${ran.stderr ?? ''}`}`,
  );
  process.exit(1);
}
