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
