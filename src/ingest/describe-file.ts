/** What a file shows that no reader knows. */
interface Head {
  readonly bytes: Uint8Array;
  /** The first bytes as text. */
  readonly text: string;
  readonly path: string;
}

type Refusal = readonly [test: (head: Head) => boolean, text: string];

const named =
  (pattern: RegExp) =>
  ({ path }: Head) =>
    pattern.test(path);
const begins =
  (pattern: RegExp) =>
  ({ text }: Head) =>
    pattern.test(text);

/** torch.profiler's own trace, which most people have or can record. */
const TORCH_TRACE = 'pass a trace that torch.profiler wrote with export_chrome_trace("trace.json.gz")';

/** What shows who holds up a job that hangs. */
const RECORDERS =
  'pass the recorders themselves (nccl_trace_rank_<r>, which torch writes with TORCH_FR_BUFFER_SIZE=2000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1), stacks of all ranks, or look with `whyslow triage --stacks`';

/** What files are that people pass and whyslow cannot read, and what to pass instead. The first that fits is shown. */
const REFUSALS: readonly Refusal[] = [
  [({ bytes }) => bytes.length === 0, 'it is empty'],
  [
    named(/\.(?:nsys-rep|qdrep|qdstrm)$/i),
    'it is a recording of Nsight Systems: export it (`nsys export --type sqlite FILE`) and pass the .sqlite file',
  ],
  [
    named(/\.ncu-rep$/i),
    `it is a report of Nsight Compute, which measures kernels one by one: \`ncu --import FILE\` shows it; for the whole step, ${TORCH_TRACE}`,
  ],
  [
    named(/\.(?:nvvp|nvprof)$/i),
    `it is a profile of nvprof, which NVIDIA has replaced: record with \`nsys profile\` and pass what \`nsys export --type sqlite\` makes of it, or ${TORCH_TRACE}`,
  ],
  [
    named(/\.xplane\.pb$/i),
    `it is a profile of XProf (TensorFlow, JAX, XLA), not of PyTorch’s profiler; ${TORCH_TRACE}`,
  ],
  [
    begins(
      /^"?(?:Kind"?,"?(?:Agent_Id|Queue_Id)|Domain"?,"?Function"?,"?Process_Id|Index"?,"?KernelName"?,)/,
    ),
    `it is a table of rocprof (ROCm), which whyslow does not read; ${TORCH_TRACE}`,
  ],
  [
    begins(/^\s*\{\s*"rocprofiler-sdk-(?:tool|json)/),
    `it is JSON of rocprofv3 (ROCm), which whyslow does not read; ${TORCH_TRACE}`,
  ],
  [
    begins(/^==\d+== NVPROF/),
    `it is what nvprof prints, which NVIDIA has replaced: record with \`nsys profile\`, or ${TORCH_TRACE}`,
  ],
  [
    begins(/^"?ID"?,"?Process ID"?,"?Process Name"?/),
    `it is a table of Nsight Compute, which measures kernels one by one; for the whole step, ${TORCH_TRACE}`,
  ],
  [
    begins(/^"?Time \(%\)"?,"?Total Time \((?:ns|us|ms|s)\)"?,/),
    'it is a table of `nsys stats`, which has sums and no timeline: pass the recording itself (`nsys export --type sqlite FILE`)',
  ],
  [
    begins(/^"?Start \((?:ns|us|ms|s)\)"?,"?Duration \((?:ns|us|ms|s)\)"?,"?(?:CorrId|Name)\b/),
    'it is a table of `nsys stats`, which has no calls of the host: pass the recording itself (`nsys export --type sqlite FILE`)',
  ],
  [
    begins(/^"?(?:Step Id,(?:Model ID,)?Task ID|Step,Type,Index,Computing|Device_id,Model ID,Task ID)\b/),
    'it is a table of Ascend’s profiler, which has sums and no timeline: pass the trace_view.json next to it',
  ],
  [
    begins(/^\s*\[\s*\{\s*"(?:children|frame)"\s*:[\s\S]*"(?:frame|metrics)"\s*:/),
    `it is a profile of Proton (Triton), which has sums and no timeline; ${TORCH_TRACE}`,
  ],
  [
    begins(/^(?:[\s\S]{0,4000}\n)?=== (?:TorchComms )?FR Trace ===\n--- Groups ---/),
    `it is the table that torch.distributed.debug makes of flight recorders, in which empty recorders and the order of calls are lost; ${RECORDERS}`,
  ],
  [
    begins(/^(?:[\s\S]{0,2000}\n)?\s*Job summary\n\s*=+\n[\s\S]*GPUs/),
    `it is the status of NCCL’s RAS as text, which differs between versions of NCCL: ask for JSON, twice (\`ncclras -f json > ras-1.json\`), and pass both answers; or ${RECORDERS}`,
  ],
  [
    named(/events\.out\.tfevents\./),
    `it is a TensorBoard log; its profiles are the files *.pt.trace.json next to it, or ${TORCH_TRACE}`,
  ],
  [
    // The page, `[times, sizes]` and the raw events, as torch writes them.
    begins(/<title>\s*GPU Memory Timeline|^\[\[-?\d+(?:, -?\d+){3}/i),
    `it is a memory timeline (export_memory_timeline), which shows memory over time, not what takes the time; ${TORCH_TRACE}`,
  ],
  [
    begins(/^\s*<(?:!doctype html|html)[\s\S]*(?:memory_viz|MemoryViz|snapshot\.pickle)/i),
    `it is a page of a memory snapshot, which shows what holds memory, not what takes the time; ${TORCH_TRACE}`,
  ],
  [
    begins(/^\s*<(?:!doctype html|html)/i),
    `it is a web page (HTML), perhaps a saved login page; ${TORCH_TRACE}`,
  ],
  [begins(/^\s*<\?xml/i), `it is XML; ${TORCH_TRACE}`],
  [begins(/^version https:\/\/git-lfs/), 'it is a Git LFS pointer: run `git lfs pull`'],
  [
    ({ bytes, text }) => isPickle(bytes) && /segments|device_traces/.test(text),
    `it is a memory snapshot of torch, which shows what holds memory, not time: open it at pytorch.org/memory_viz; for time, ${TORCH_TRACE}`,
  ],
  [({ bytes }) => isPickle(bytes), 'it is a Python pickle, which can run any code when it is read'],
  [
    begins(/^\s*-{8,}[ -]*\n[^\n]*\bSelf (?:CPU|CUDA|XPU|NPU|PrivateUse1)/),
    'it is a table of key_averages(): pass the trace itself, written with export_chrome_trace("trace.json.gz")',
  ],
  [
    ({ bytes }) => isCProfile(bytes),
    `it is a profile of cProfile, which has sums per Python function and no timeline: snakeviz or pstats show it; ${TORCH_TRACE}`,
  ],
  [
    named(/\.(?:input_pipeline|overview_page|kernel_stats|tensorflow_stats|memory_profile|op_profile)\.pb$/i),
    `it is a table of XProf or TensorFlow’s profiler, not a profile of PyTorch’s; ${TORCH_TRACE}`,
  ],
  [
    named(/\.et$/i),
    `it is a Chakra execution trace, which lists operators without a timeline; ${TORCH_TRACE}`,
  ],
  [
    named(/\.pb\.gz$|\.pprof$/i),
    `it is a profile in the format of pprof, which has sums and no timeline; ${TORCH_TRACE}`,
  ],
  [({ bytes }) => isBinary(bytes), 'it is binary'],
];

/** A key of JSON, with its quotes. */
const KEY = /("[^"\\]{1,40}")\s*:/g;

/** What a file is that no reader knows: `it is empty`. For error messages. */
export function describeFile(bytes: Uint8Array, path: string): string {
  const text = Buffer.from(bytes).toString('utf8');
  const known = REFUSALS.find(([test]) => test({ bytes, text, path }));
  if (known) return known[1];
  const keys = /^\s*[[{]/.test(text) ? [...text.matchAll(KEY)].slice(0, 3).map((m) => m[1]) : [];
  if (keys.length > 0) return `it is JSON of an unknown kind, with the keys ${keys.join(', ')}`;
  const begin = (text.trimStart().split(/[\r\n]/, 1)[0] ?? '').slice(0, 60);
  return `it begins with ${begin.includes('"') ? begin : `"${begin}"`}`;
}

/** Protocols 2 to 5 begin with these bytes. */
function isPickle(head: Uint8Array): boolean {
  return head[0] === 0x80 && head[1]! >= 2 && head[1]! <= 5;
}

/** A dictionary that Python marshaled, whose first key is (file, line, function). */
function isCProfile([first, key, length]: Uint8Array): boolean {
  const withoutFlag = (byte: number | undefined) => String.fromCharCode((byte ?? 0) & 0x7f);
  return withoutFlag(first) === '{' && /[()]/.test(withoutFlag(key)) && length === 3;
}

function isBinary(head: Uint8Array): boolean {
  const control = head.reduce((n, c) => n + Number(c < 9 || (c > 13 && c < 32) || c === 127), 0);
  return control > head.length / 20;
}
