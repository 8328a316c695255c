/** Number format: of the arithmetic on tensor cores, else of the data. */
export type Precision = 'fp64' | 'fp32' | 'tf32' | 'fp16' | 'bf16' | 'fp8' | 'fp4' | 'int8' | 'unknown';

/** Peak rates of a device, as its vendor states them. */
export interface DeviceRates {
  readonly name: string;
  /**
   * Dense peak in TFLOP/s, of tensor cores except for fp32 (NVIDIA: vector units; AMD: matrix cores, which do fp32 too).
   * Absent: the device lacks the type, or the vendor states no rate.
   */
  readonly tflops: Readonly<Partial<Record<Exclude<Precision, 'unknown'>, number>>>;
  /** Memory bandwidth, GB/s. */
  readonly memoryGBps: number;
  readonly memoryGiB: number;
  /** Host to device, GB/s in one direction: PCIe 3.0, 4.0 and 5.0 with 16 lanes, or NVLink-C2C. */
  readonly hostLinkGBps: number;
  /** The vendor's document. Rates that it states for sparse matrices were halved. */
  readonly source: string;
}

// biome-ignore format: a table
type Row = readonly [
  name: string, test: RegExp,
  fp64: Rate, fp32: Rate, tf32: Rate, fp16: Rate, bf16: Rate, fp8: Rate, fp4: Rate, int8: Rate,
  memoryGBps: number, memoryGiB: number, hostLinkGBps: number, source: string,
];
type Rate = number | null;
const RATE_COLUMNS = ['fp64', 'fp32', 'tf32', 'fp16', 'bf16', 'fp8', 'fp4', 'int8'] as const;

/** `x` in a column: no rate. */
const x = null;
const pcie3 = 15.75;
const pcie4 = 31.5;
const pcie5 = 63;
/** Grace to its GPU: 900 GB/s in both directions together. */
const c2c = 450;

/**
 * GeForce rates are those with fp32 accumulation, which PyTorch uses. Each GCD of an MI250(X) is a device of its own, so
 * the sheet's figures are halved; ROCm calls both `MI250X/MI250`, which gets the lower rates. PG509 is the board of the
 * A100 SXM with either memory. The names of GH200 state the CPU's memory.
 */
// biome-ignore format: a table
const TABLE: readonly Row[] = [
  // name               pattern                          fp64   fp32   tf32   fp16   bf16   fp8    fp4    int8   GB/s  GiB  host   source
  ['V100 SXM2 16GB',   /V100-(?:SXM\d|DGXS)-16GB/,       7.8,   15.7,  x,     125,   x,     x,     x,     x,     900,  16,  pcie3, 'NVIDIA V100 datasheet 2020'],
  ['V100 SXM2 32GB',   /V100-(?:SXM\d|DGXS)-32GB/,       7.8,   15.7,  x,     125,   x,     x,     x,     x,     900,  32,  pcie3, 'NVIDIA V100 datasheet 2020'],
  ['V100 PCIe 16GB',   /V100-PCIE-16GB/,                 7,     14,    x,     112,   x,     x,     x,     x,     900,  16,  pcie3, 'NVIDIA V100 datasheet 2020'],
  ['V100 PCIe 32GB',   /V100-PCIE-32GB/,                 7,     14,    x,     112,   x,     x,     x,     x,     900,  32,  pcie3, 'NVIDIA V100 datasheet 2020'],
  ['V100S PCIe',       /V100S-PCIE/,                     8.2,   16.4,  x,     130,   x,     x,     x,     x,     1134, 32,  pcie3, 'NVIDIA V100 datasheet 2020'],
  ['T4',               /\bT4\b/,                         x,     8.1,   x,     65,    x,     x,     x,     130,   320,  16,  pcie3, 'NVIDIA T4 datasheet 2019'],
  ['A100 SXM 40GB',    /A[18]00-SXM4?-40GB|A100-PG5/,    19.5,  19.5,  156,   312,   312,   x,     x,     624,   1555, 40,  pcie4, 'NVIDIA A100 datasheet 2021'],
  ['A100 SXM 80GB',    /A[18]00-SXM4?-80GB|A100-PG5/,    19.5,  19.5,  156,   312,   312,   x,     x,     624,   2039, 80,  pcie4, 'NVIDIA A100 datasheet 2021'],
  ['A100 PCIe 40GB',   /A[18]00-PCIE-40GB/,              19.5,  19.5,  156,   312,   312,   x,     x,     624,   1555, 40,  pcie4, 'NVIDIA A100 datasheet 2021'],
  ['A100 PCIe 80GB',   /A[18]00(?: 80GB PCIe|-PCIE-80)/, 19.5,  19.5,  156,   312,   312,   x,     x,     624,   1935, 80,  pcie4, 'NVIDIA A100 datasheet 2021'],
  ['A30',              /\bA30\b/,                        10.3,  10.3,  82,    165,   165,   x,     x,     330,   933,  24,  pcie4, 'NVIDIA A30 datasheet 2022'],
  ['A10G',             /\bA10G\b/,                       x,     31.5,  35,    70,    70,    x,     x,     140,   600,  24,  pcie4, 'NVIDIA A10G datasheet (AWS) 2022'],
  ['A10',              /\bA10\b/,                        x,     31.2,  62.5,  125,   125,   x,     x,     250,   600,  24,  pcie4, 'NVIDIA A10 datasheet 2021'],
  ['A40',              /\bA40\b/,                        x,     37.4,  74.8,  149.7, 149.7, x,     x,     299.3, 696,  48,  pcie4, 'NVIDIA A40 datasheet 2021'],
  ['RTX A6000',        /RTX A6000/,                      x,     38.7,  77.4,  154.8, 154.8, x,     x,     309.7, 768,  48,  pcie4, 'NVIDIA RTX A6000 datasheet 2021'],
  ['GeForce RTX 3090', /RTX 3090(?! Ti)/,                x,     35.6,  35.6,  71,    71,    x,     x,     284,   936,  24,  pcie4, 'NVIDIA GA102 whitepaper 2.0'],
  ['L4',               /\bL4\b/,                         x,     30.3,  60,    121,   121,   242.5, x,     242.5, 300,  24,  pcie4, 'NVIDIA L4 datasheet 2023'],
  ['L40S',             /\bL40S\b/,                       x,     91.6,  183,   362,   362,   733,   x,     733,   864,  48,  pcie4, 'NVIDIA L40S datasheet 2023'],
  ['L40',              /\bL40\b/,                        x,     90.5,  90.5,  181,   181,   362,   x,     362,   864,  48,  pcie4, 'NVIDIA L40 datasheet 2023'],
  ['RTX 6000 Ada',     /RTX 6000 Ada/,                   x,     91.1,  182.1, 364.2, 364.2, 728.5, x,     728.5, 960,  48,  pcie4, 'NVIDIA RTX 6000 Ada datasheet 2023'],
  ['GeForce RTX 4090', /RTX 4090(?! D| Laptop)/,         x,     82.6,  82.6,  165.2, 165.2, 330.3, x,     660.6, 1008, 24,  pcie4, 'NVIDIA Ada whitepaper 2.0'],
  ['GeForce RTX 5090', /RTX 5090(?! D| Laptop)/,         x,     104.8, 104.8, 209.5, 209.5, 419,   1676,  838,   1792, 32,  pcie5, 'NVIDIA RTX Blackwell whitepaper 1.1'],
  ['H100 PCIe',        /H100 PCIe/,                      51,    51,    378,   756,   756,   1513,  x,     1513,  2000, 80,  pcie5, 'NVIDIA H100 datasheet 2023'],
  ['H100 NVL',         /H100 NVL/,                       60,    60,    417.5, 835.5, 835.5, 1671,  x,     1671,  3938, 94,  pcie5, 'NVIDIA H100 NVL product brief 2024'],
  ['H100 SXM',         /H100 (?:SXM|80GB HBM3)/,         67,    67,    494.5, 989.5, 989.5, 1979,  x,     1979,  3350, 80,  pcie5, 'NVIDIA H100 datasheet 2023'],
  ['H200 NVL',         /H200 NVL/,                       60,    60,    417.5, 835.5, 835.5, 1671,  x,     1671,  4800, 141, pcie5, 'NVIDIA H200 datasheet 2024'],
  ['H200',             /^(?:NVIDIA )?H200(?! NVL)/,      67,    67,    494.5, 989.5, 989.5, 1979,  x,     1979,  4800, 141, pcie5, 'NVIDIA H200 datasheet 2024'],
  ['GH200 96GB',       /GH200 (?:480|120|96)GB/,         67,    67,    494.5, 989.5, 989.5, 1979,  x,     1979,  4000, 96,  c2c,   'NVIDIA GH200 datasheet 2024'],
  ['GH200 144GB',      /GH200 144G/,                     67,    67,    494.5, 989.5, 989.5, 1979,  x,     1979,  4900, 144, c2c,   'NVIDIA GH200 datasheet 2024'],
  ['H20',              /\bH20\b/,                        1,     44,    74,    148,   148,   296,   x,     296,   4000, 96,  pcie5, 'NVIDIA H20 figures of its OEMs 2023'],
  ['B100',             /^(?:NVIDIA )?B100\b/,            30,    60,    900,   1800,  1800,  3500,  7000,  3500,  8000, 192, pcie5, 'NVIDIA Blackwell technical brief 1.0'],
  ['B200',             /^(?:NVIDIA )?B200\b/,            37,    75,    1125,  2250,  2250,  4500,  9000,  4500,  7700, 180, pcie5, 'NVIDIA HGX B200 datasheet 2025, one of 8'],
  ['GB200',            /\bGB200\b/,                      40,    80,    1250,  2500,  2500,  5000,  10000, 5000,  8000, 186, c2c,   'NVIDIA GB200 NVL72 datasheet 2025, one of 72'],
  ['B300',             /^(?:NVIDIA )?B300\b/,            1.25,  75,    1125,  2250,  2250,  4500,  13500, x,     8000, 288, pcie5, 'NVIDIA HGX B300 datasheet 2025, one of 8'],
  ['GB300',            /\bGB300\b/,                      1.4,   83,    1250,  2500,  2500,  5000,  15000, x,     8000, 279, c2c,   'NVIDIA GB300 NVL72 datasheet 2025, one of 72'],
  ['MI210',            /MI210/,                          45.3,  45.3,  x,     181,   181,   x,     x,     181,   1638, 64,  pcie4, 'AMD MI210 datasheet 2022'],
  ['MI250X (one GCD)', /MI250X(?! ?\/)/,                 47.9,  47.9,  x,     191.5, 191.5, x,     x,     191.5, 1638, 64,  pcie4, 'AMD MI250X datasheet 2021, half'],
  ['MI250 (one GCD)',  /MI250(?!X)/,                     45.3,  45.3,  x,     181,   181,   x,     x,     181,   1638, 64,  pcie4, 'AMD MI250 datasheet 2021, half'],
  ['MI300X',           /MI300X/,                         163.4, 163.4, 653.7, 1307.4,1307.4,2614.9,x,     2614.9,5300, 192, pcie5, 'AMD MI300X datasheet 2023'],
  ['MI325X',           /MI325X/,                         163.4, 163.4, 653.7, 1307.4,1307.4,2614.9,x,     2614.9,6000, 256, pcie5, 'AMD MI325X datasheet 2024'],
  ['MI355X',           /MI355X/,                         78.6,  157.3, x,     2516.6,2516.6,5033.2,10066, 5033.2,8000, 288, pcie5, 'AMD MI355X datasheet 2025'],
];

/**
 * Finds a device by its driver's name, e.g. `NVIDIA H100 80GB HBM3`. The memory (bytes) separates variants that share a
 * name. Null: not in the table, or part of a card (MIG, vGPU). Related devices are no basis for a guess.
 */
export function findDevice(name: string, totalMemory: number | null = null): DeviceRates | null {
  const label = name.slice(0, 200);
  if (/\bMIG\b|-\d{1,2}[ABCQ]\b/.test(label)) return null;
  const found = TABLE.filter(([, test]) => test.test(label)).map(toRates);
  if (found.length < 2) return found[0] ?? null;
  return found.find((d) => totalMemory !== null && isMemoryOf(d, totalMemory)) ?? null;
}

/** Drivers report a little less than the sheet: 39.6 of 40 GiB, 178.4 of 180. */
function isMemoryOf(device: DeviceRates, totalMemory: number): boolean {
  const ratio = totalMemory / 2 ** 30 / device.memoryGiB;
  return ratio > 0.9 && ratio < 1.02;
}

function toRates(row: Row): DeviceRates {
  const [name, , ...columns] = row;
  const rates = RATE_COLUMNS.map((precision, i) => [precision, columns[i]] as const);
  const [memoryGBps, memoryGiB, hostLinkGBps, source] = row.slice(-4) as [number, number, number, string];
  const tflops = Object.fromEntries(rates.filter(([, rate]) => rate !== null));
  return { name, tflops, memoryGBps, memoryGiB, hostLinkGBps, source };
}

/** Which number formats a device has in hardware. Null: the architecture is not known. */
export interface Capabilities {
  readonly hasTensorCores: boolean | null;
  readonly hasTf32: boolean | null;
  readonly hasBf16: boolean | null;
}

const UNKNOWN: Capabilities = { hasTensorCores: null, hasTf32: null, hasBf16: null };

/** By compute capability, which traces state even for devices that are not in device-rates.ts. */
export function capabilities(name: string, major: number | null, minor: number | null): Capabilities {
  if (major === null || minor === null) return UNKNOWN;
  const version = major * 10 + minor;
  return isAmd(name) ? ofAmd(version) : ofNvidia(version);
}

const isAmd = (name: string) => /\bAMD\b|Radeon|Instinct|\bMI\d{2,3}/i.test(name.slice(0, 200));

/** CUDA programming guide, "Compute Capabilities": tensor cores from 7.0, bf16 and tf32 from 8.0. */
function ofNvidia(version: number): Capabilities {
  return {
    hasTensorCores: version >= 70,
    hasTf32: version >= 80,
    hasBf16: version >= 80,
  };
}

/**
 * HIP reports gfx942 (MI300) as 9.4 and gfx950 (MI350) as 9.5. 9.0 may be anything from gfx900 (Vega) to gfx90a (MI250),
 * so it tells nothing. xf32, AMD's tf32, is in gfx942 and gone from gfx950.
 */
function ofAmd(version: number): Capabilities {
  if (version === 94) return { hasTensorCores: true, hasTf32: true, hasBf16: true };
  if (version === 95) return { hasTensorCores: true, hasTf32: false, hasBf16: true };
  return UNKNOWN;
}

/**
 * Part of the vendor's dense peak that matrix products of training reach, from the zoo's transformers on an H200
 * (10.7 TFLOP per step: fp32 51, tf32 304, bf16 778 TFLOP/s) and `table_doubles` (fp64 41). The ratio of two of them carries
 * over to other devices better than either alone.
 */
// biome-ignore format: a table
export const REACHED = {
  fp64: 0.61, fp32: 0.76, tf32: 0.61, bf16: 0.79, fp16: 0.79,
} as const satisfies Partial<Record<Precision, number>>;

/**
 * Part of the peak bandwidth that long elementwise kernels of PyTorch reach: 0.82 to 0.88 on an H100 (TraceLens's recordings of
 * Qwen1.5 and TimeSformer; kernels that only copy with strides reach half of it).
 */
export const REACHED_BANDWIDTH = 0.85;
