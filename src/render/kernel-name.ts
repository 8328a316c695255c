/**
 * `void at::native::f<c10::Half>(int, float)` is `f<Half>`: return type, namespaces and parameters do not distinguish kernels.
 * Names that are no C++ signature, such as `aten::add_`, stay as they are.
 */
export function shortKernelName(name: string): string {
  // `Memcpy HtoD (Pinned -> Device)` has a space before its parentheses.
  if (!/\S[<(]/.test(name)) return name;
  return withoutParameters(name)
    .replace(/^void /, '')
    .replace(/\b(?:[A-Za-z_]\w*::)+(?=\w)/g, '');
}

/** Without the parentheses that end the name. Others may stand before them. */
function withoutParameters(name: string): string {
  if (!name.endsWith(')')) return name;
  let depth = 0;
  for (let i = name.length - 1; i > 0; i--) {
    if (name[i] === ')') depth++;
    if (name[i] === '(' && --depth === 0) return name.slice(0, i);
  }
  return name;
}
