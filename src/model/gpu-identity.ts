/** Identifies a GPU of a machine. Null: unknown. Ids from different tools are normalized. */
export interface GpuIdentity {
  /** As nvidia-smi numbers GPUs, or as a process does. They agree only where the process sees all GPUs. */
  readonly index: number | null;
  readonly name: string | null;
  /** In the form of `uuidKey`. */
  readonly uuid: string | null;
  /** In the form of `pciKey`. */
  readonly pci: string | null;
}

/** `GPU-1A2B…` of nvidia-smi and `1a2b…` of torch are the same. */
export function uuidKey(text: string): string | null {
  const key = text.trim().toLowerCase().replace(/^gpu-/, '');
  return /^[0-9a-f-]{8,64}$/.test(key) ? key : null;
}

/** `00000000:07:00.0`, `0000:07:00.0` and `07:00.0` become `0:7:0`: domain, bus and device in hexadecimal. */
export function pciKey(text: string): string | null {
  const match = /^(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.[0-9a-f])?$/i.exec(text.trim());
  if (!match) return null;
  const [domain, bus, device] = match.slice(1).map((hex = '0') => Number.parseInt(hex, 16));
  return pciKeyOf(domain!, bus!, device!);
}

/** The same from numbers, as torch has them. */
export function pciKeyOf(domain: number, bus: number, device: number): string {
  return [domain, bus, device].map((n) => n.toString(16)).join(':');
}
