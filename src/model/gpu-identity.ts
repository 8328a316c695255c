/** Which GPU of a machine something is about. Null: not said. Ids are written one way, whoever wrote them. */
export interface GpuIdentity {
  /** As nvidia-smi counts, or as the process that named it does: the same only where it sees all of them. */
  readonly index: number | null;
  readonly name: string | null;
  /** As `uuidKey` writes it. */
  readonly uuid: string | null;
  /** As `pciKey` writes it. */
  readonly pci: string | null;
}

/** `GPU-1A2B…` of nvidia-smi and `1a2b…` of torch are one. */
export function uuidKey(text: string): string | null {
  const key = text.trim().toLowerCase().replace(/^gpu-/, '');
  return /^[0-9a-f-]{8,64}$/.test(key) ? key : null;
}

/** `00000000:07:00.0`, `0000:07:00.0` and `07:00.0` are `0:7:0`: domain, bus and device in hexadecimal. */
export function pciKey(text: string): string | null {
  const match = /^(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.[0-9a-f])?$/i.exec(text.trim());
  if (!match) return null;
  return pciKeyOf(...([match[1] ?? '0', match[2]!, match[3]!].map((h) => Number.parseInt(h, 16)) as Triple));
}

type Triple = [domain: number, bus: number, device: number];

/** The same from numbers, as torch has them. */
export function pciKeyOf(...numbers: Triple): string {
  return numbers.map((n) => n.toString(16)).join(':');
}
