/** `cudaLaunchKernel_v7000` and `cudaLaunchKernel_ptsz_v7000` are calls of `cudaLaunchKernel`; `cuMemcpyHtoD_v2` is a name. */
const CALL_VERSION = /^(cu[\w]{1,200}?)(?:_ptsz|_ptds)?_v\d{3,6}$/;
/** torch's emit_nvtx puts these after the name of an operator. */
const OPERATOR_DETAILS = /, (?:seq|op_id|sizes|input_op_ids) = .*$/s;

/** A name as the profiler of torch would write it. */
export const plainName = (text: string): string =>
  text.replace(CALL_VERSION, '$1').replace(OPERATOR_DETAILS, '');

/** Operators of torch.autograd.profiler.emit_nvtx. */
export const isOperator = (name: string): boolean =>
  /^(?:aten|c10d|prims|torchvision|quantized)::|^autograd::engine::evaluate_function/.test(name);

/** As CUPTI numbers them; nsys has tables of these names, but not in all versions. */
export const COPY_KINDS: Readonly<Record<number, string>> = {
  1: 'HtoD',
  2: 'DtoH',
  3: 'HtoA',
  4: 'AtoH',
  5: 'AtoA',
  6: 'AtoD',
  7: 'DtoA',
  8: 'DtoD',
  9: 'HtoH',
  10: 'PtoP',
  11: 'HtoD',
  12: 'DtoH',
  13: 'DtoD',
};
/** ENUM_CUDA_MEM_KIND. */
const MEMORY_KINDS = ['Pageable', 'Pinned', 'Device', 'Array', 'Managed', 'Device', 'Managed'];

/** `Memcpy HtoD (Pageable -> Device)`, as Kineto writes it. */
export function copyName(kind: number, from: number, to: number): string {
  const memory = (k: number) => MEMORY_KINDS[k] ?? 'Unknown';
  return `Memcpy ${COPY_KINDS[kind] ?? 'Unknown'} (${memory(from)} -> ${memory(to)})`;
}

export const fillName = (kind: number): string => `Memset (${MEMORY_KINDS[kind] ?? 'Unknown'})`;
