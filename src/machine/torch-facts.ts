import type { RunCommand } from './command.js';

/** What the installed torch says of itself. */
export interface TorchFacts {
  readonly version: string;
  /** CUDA or ROCm that it was built for. Null: a build for CPUs. */
  readonly cuda: string | null;
  readonly hip: string | null;
  readonly cudnn: number | null;
  readonly available: boolean;
  /** Of the first GPU: `[9, 0]`. */
  readonly capability: readonly [number, number] | null;
  readonly architectures: readonly string[];
  readonly tf32: boolean;
  readonly tf32Convolutions: boolean;
  readonly cudnnBenchmark: boolean;
  readonly threads: number;
}

/** Torch may take long to import from a network disk. */
const SECONDS = 120;
const SCRIPT = `
import json, torch
gpu = torch.cuda.is_available()
print("whyslow" + json.dumps({
  "version": torch.__version__, "cuda": torch.version.cuda, "hip": torch.version.hip,
  "cudnn": torch.backends.cudnn.version() if torch.backends.cudnn.is_available() else None,
  "available": gpu, "capability": list(torch.cuda.get_device_capability()) if gpu else None,
  "architectures": torch.cuda.get_arch_list() if gpu else [],
  "tf32": torch.get_float32_matmul_precision() != "highest",
  "tf32_convolutions": torch.backends.cudnn.allow_tf32,
  "cudnn_benchmark": torch.backends.cudnn.benchmark, "threads": torch.get_num_threads()}))
`;

/** Asks a Python. A string says why it could not answer. */
export async function askTorch(run: RunCommand, python: string): Promise<TorchFacts | string> {
  const said = await run(python, ['-c', SCRIPT], SECONDS);
  if (said === null) return `there is no ${python}`;
  const line = /^whyslow(\{.*\})$/m.exec(said.stdout)?.[1];
  if (line === undefined) {
    const last = said.stderr.trim().split('\n').at(-1)?.slice(0, 200);
    return /No module named 'torch'/.test(said.stderr)
      ? `${python} has no torch`
      : `${python} could not import torch: ${last || 'it printed nothing'}`;
  }
  try {
    const raw = JSON.parse(line) as Record<string, never>;
    return {
      version: raw.version!,
      cuda: raw.cuda ?? null,
      hip: raw.hip ?? null,
      cudnn: raw.cudnn ?? null,
      available: raw.available === true,
      capability: raw.capability ?? null,
      architectures: raw.architectures ?? [],
      tf32: raw.tf32 === true,
      tf32Convolutions: raw.tf32_convolutions === true,
      cudnnBenchmark: raw.cudnn_benchmark === true,
      threads: raw.threads ?? 1,
    };
  } catch {
    return `${python} printed something else`;
  }
}
