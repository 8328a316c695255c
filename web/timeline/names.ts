/** Labels: the part of a name that tells most, first. The whole name is in the tooltip. */
const KERNEL_NOISE =
  /^(?:void |\(anonymous namespace\)::|at::(?:native::)?|at_cuda_detail::|cutlass::|cub::|thrust::|cuda_cub::|__5x_)+/;
const PYTHON_FRAME = /^(.{0,300}?)([^/]{1,100})\.py\((\d+)\): (.+)$/;

export function labelOf(name: string): string {
  const frame = PYTHON_FRAME.exec(name);
  if (frame) return `${frame[4]} (${frame[2]}.py:${frame[3]})`;
  return name.replace(KERNEL_NOISE, '');
}

/** ns as people say it: `12.3 µs`, `161 ms`. */
export function formatNs(time: number): string {
  const size = Math.abs(time);
  if (size < 1000) return `${Math.round(time)} ns`;
  const [value, unit] = size < 1e6 ? [time / 1e3, 'µs'] : size < 1e9 ? [time / 1e6, 'ms'] : [time / 1e9, 's'];
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
}
