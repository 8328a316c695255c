import { findDevice } from '../facts/device-rates.js';

/** Watts, by the names of device-rates.ts and from the same sheets. Boards with several limits or no stated one are absent. */
// biome-ignore format: a table
const WATTS: Readonly<Record<string, number>> = {
  'V100 SXM2 16GB': 300, 'V100 SXM2 32GB': 300, 'V100 PCIe 16GB': 250, 'V100 PCIe 32GB': 250, 'V100S PCIe': 250, T4: 70,
  'A100 SXM 40GB': 400, 'A100 SXM 80GB': 400, 'A100 PCIe 40GB': 250, 'A100 PCIe 80GB': 300, A30: 165, A10: 150, A40: 300,
  'RTX A6000': 300, 'GeForce RTX 3090': 350, L4: 72, L40S: 350, L40: 300, 'RTX 6000 Ada': 300, 'GeForce RTX 4090': 450,
  'GeForce RTX 5090': 575, 'H100 PCIe': 350, 'H100 SXM': 700, H200: 700, B200: 1000,
};

/** Power limit of a device in watts. Null: not known. */
export function boardPower(name: string, totalMemory: number | null): number | null {
  const device = findDevice(name, totalMemory);
  return (device && WATTS[device.name]) ?? null;
}
