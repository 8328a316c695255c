import type { Precision } from '../../facts/device-rates.js';
import type { KernelKind } from './kernel-kind.js';

type Arithmetic = Pick<KernelKind, 'precision' | 'tensorCore'>;
type Family = (name: string) => Arithmetic | undefined;

/** The precision of matrix kernels. Each library writes it into names in its own way. */
export function matrixArithmetic(name: string): Arithmetic | undefined {
  for (const family of FAMILIES) {
    const found = family(name);
    if (found !== undefined) return found;
  }
  return undefined;
}

const onTensorCores = (precision: Precision): Arithmetic => ({ precision, tensorCore: true });
const onVectorUnits = (precision: Precision): Arithmetic => ({ precision, tensorCore: false });

/**
 * cuBLAS's generated kernels: `nvjet[_sm90]_<types>_<tile>`. BLAS letters of inputs, arithmetic and output. `tst` = bf16
 * in, fp32 accumulation, bf16 out (zoo: every autocast run and no other; B200 trace: c10::BFloat16 operands). `hsh` =
 * fp16, `hss` = fp16 in and fp32 out, `sss` = fp32 on tensor cores, so tf32. Five letters name A, B and C: `qqtst` = fp8
 * (torch._scaled_mm), `ootst` = fp4 (with 16-wide block scales).
 */
const nvjet: Family = (name) => {
  const letters = /nvjet_(?:sm\d{2,3}[a-z]?_)?([a-z]{3,5})_/.exec(name)?.[1];
  if (letters === undefined) return name.includes('nvjet') ? onTensorCores('unknown') : undefined;
  return onTensorCores(NVJET_LETTERS[letters[0]!] ?? 'unknown');
};
// biome-ignore format: a table
const NVJET_LETTERS: Readonly<Record<string, Precision>> = {
  h: 'fp16', t: 'bf16', s: 'tf32', q: 'fp8', r: 'fp8', o: 'fp4', d: 'fp64', i: 'int8', b: 'int8',
};

/**
 * `sm80_xmma_gemm_f32f32_tf32f32_f32_...`: types in memory, then the multiplied and the accumulated type, then the output.
 * So `f32f32_f32f32_f32` is plain fp32, and `f32f32_tf32f32_f32` is tf32.
 */
const xmma: Family = (name) => {
  if (!name.includes('xmma_')) return undefined;
  const types =
    /_(?:(?:tf32|bf16|f16|f32|f64|e4m3|e5m2|i8|s8|u8|i32|s32)+)_(tf32|bf16|f16|f32|f64|e4m3|e5m2|i8|s8|u8)/;
  const multiplied = types.exec(name)?.[1];
  if (multiplied === undefined) return undefined;
  if (multiplied === 'f32') return onVectorUnits('fp32');
  return onTensorCores(XMMA_TYPES[multiplied] ?? 'unknown');
};
// biome-ignore format: a table
const XMMA_TYPES: Readonly<Record<string, Precision>> = {
  tf32: 'tf32', bf16: 'bf16', f16: 'fp16', f64: 'fp64', e4m3: 'fp8', e5m2: 'fp8', i8: 'int8', s8: 'int8', u8: 'int8',
};

/** TensorRT-LLM: `bmm_<out>_<A><B>_<accumulator>`. fp4 weights with fp8 activations run at the rate of fp8. */
const trtllm: Family = (name) => {
  const operands = /^(?:bmm|gemm)_[A-Z][A-Za-z0-9]{1,20}_([A-Z][A-Za-z0-9]{1,40})_/.exec(name)?.[1];
  if (operands === undefined) return undefined;
  if (/E4m3|E5m2/.test(operands.replace(/Ue4m3/gi, ''))) return onTensorCores('fp8');
  if (operands.includes('E2m1')) return onTensorCores('fp4');
  if (/Bfloat16/i.test(operands)) return onTensorCores('bf16');
  return onTensorCores(/Fp16/i.test(operands) ? 'fp16' : 'unknown');
};

/**
 * Tensile (rocBLAS, hipBLASLt): `Cijk_Alik_Bljk_<types>_<flags>_MT<tile>_MI<matrix instruction>`. The types start with
 * that of A: S, D, H, B (bf16), C and Z (complex), I8, F8/B8 (fp8 e4m3/e5m2), F4; `BBS` is bf16 in, bf16 out, fp32
 * accumulated, `SB` is fp32 with beta. `S_MX_` is AMD's xf32, the counterpart of tf32.
 */
const tensile: Family = (name) => {
  const types = /Cijk_[A-Za-z]{3,8}_[A-Za-z]{3,8}_((?:4xi8|[A-Z])[A-Za-z0-9]{0,12})(_MX_)?/.exec(name);
  if (types === null) return undefined;
  const letters = types[1]!;
  const first = /^(?:F4|F6|F8|B8|I8|4xi8|[A-Z])/.exec(letters)![0];
  const precision = first === 'S' && types[2] !== undefined ? 'tf32' : TENSILE_TYPES[first];
  return { precision: precision ?? 'unknown', tensorCore: /_MI\d/.test(name) };
};
// biome-ignore format: a table
const TENSILE_TYPES: Readonly<Record<string, Precision>> = {
  S: 'fp32', D: 'fp64', C: 'fp32', Z: 'fp64', H: 'fp16', B: 'bf16', F4: 'fp4', F8: 'fp8', B8: 'fp8', I8: 'int8', '4xi8': 'int8',
};

/** MIOpen's `igemm_fwd_gtcx3_nhwc_fp16_...`. The x stands for xdlops, AMD's matrix instructions. */
const miopen: Family = (name) => {
  const type = /_gtcx\d{0,2}_[a-z]{3,6}_(fp16|bf16|fp32|int8)/.exec(name)?.[1];
  return type === undefined ? undefined : onTensorCores(type as Precision);
};

/**
 * CUTLASS and cuBLAS/cuDNN of Volta to Ampere: `<letter><instruction shape><operation>`, as in `s1688gemm`. The letter is
 * the accumulator's type; the operands' types stand around it (`ampere_fp16_s16816gemm_fp16`). Without them, s1688 on sm80
 * is tf32. `sgemm` and `scudnn` have no instruction shape: plain fp32.
 */
const shaped: Family = (name) => {
  const found =
    /(?:^|[_ :<])(gc|[shdczi])(\d+x\d+x\d+|\d{3,6})?(tf32|bf16|f16)?(?:gemm|cudnn|fprop|dgrad|wgrad)/.exec(
      name,
    );
  if (found === null) return undefined;
  const [, letter, shape, fast] = found;
  if (shape === undefined) return onVectorUnits(PLAIN_LETTERS[letter!] ?? 'unknown');
  if (fast !== undefined) return onTensorCores(fast === 'f16' ? 'fp16' : (fast as Precision));
  return onTensorCores(operandType(name) ?? SHAPED_LETTERS[letter!] ?? 'unknown');
};
// biome-ignore format: a table
const PLAIN_LETTERS: Readonly<Record<string, Precision>> = {
  s: 'fp32', d: 'fp64', h: 'fp16', i: 'int8', c: 'fp32', gc: 'fp32', z: 'fp64',
};
// biome-ignore format: a table
const SHAPED_LETTERS: Readonly<Record<string, Precision>> = {
  s: 'tf32', h: 'fp16', d: 'fp64', i: 'int8', c: 'tf32', gc: 'tf32', z: 'fp64',
};

/** `ue4m3` and `ue8m0` are types of block scales, not of operands. */
function operandType(name: string): Precision | undefined {
  const plain = name.replace(/ue[48]m[03]/gi, '');
  if (/_?f4_|xf4|e2m1/.test(plain)) return 'fp4';
  if (/e4m3|e5m2/.test(plain)) return 'fp8';
  if (/tf32/.test(plain)) return 'tf32';
  if (/bf16/.test(plain)) return 'bf16';
  if (/fp16|_f16/.test(plain)) return 'fp16';
  return /_s8|_u8|int8/.test(plain) ? 'int8' : undefined;
}

/** Memory-efficient attention. For fp32 it runs three tf32 products for each one of fp32. */
const memoryEfficient: Family = (name) => {
  const type = /fmha_cutlass[FB]_(f32|f16|bf16)/.exec(name)?.[1];
  if (type === undefined) return undefined;
  return onTensorCores(type === 'f32' ? 'fp32' : type === 'f16' ? 'fp16' : 'bf16');
};

/** cuDNN writes `f16` for fp16 and bf16 alike (zoo: autocast to bf16). */
const cudnnAttention: Family = (name) =>
  name.includes('_sdpa_') ? onTensorCores(/e4m3|e5m2|f8/.test(name) ? 'fp8' : 'unknown') : undefined;

/** cuBLAS's matrix-vector and small kernels and old cuDNN engines use no tensor cores. Types are template arguments. */
const vectorUnits: Family = (name) => {
  if (!/gemv|gemmSN|gemmk1|dot_kernel|convolve_|wgrad_alg|dgrad_engine|winograd|fft2d/.test(name))
    return undefined;
  if (/bfloat16|bf16/i.test(name)) return onVectorUnits('bf16');
  if (/half|fp16/i.test(name)) return onVectorUnits('fp16');
  return /\bfloat\b|float2|sgemm/.test(name) ? onVectorUnits('fp32') : undefined;
};

// biome-ignore format: a list
const FAMILIES: readonly Family[] = [
  nvjet, xmma, trtllm, tensile, miopen, memoryEfficient, cudnnAttention, shaped, vectorUnits,
];
