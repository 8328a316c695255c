import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clockOf, shown } from './clock.js';
import { toEventLogs } from './event-logs.js';
import { hostOf, meshOf } from './layout.js';
import type { SimulatedRun } from './simulate.js';

export interface SimulatedText {
  /** Below the folder of the run. */
  readonly path: string;
  readonly text: string;
}

const json = (value: object) => `${JSON.stringify(value, null, 1)}\n`;
const idOf = ({ job }: SimulatedRun) => `simulated-${job.settings.seed}`;
/** Any day will do. */
const WALL_NS = 1_790_857_026_000_000_000;

/** `run.json` and `ranks/rank_<r>.json`, as capture writes them. */
export function toManifests(run: SimulatedRun): SimulatedText[] {
  const { settings } = run.job;
  const { axes, coordinates } = meshOf(settings);
  const mesh = { axes: axes.map((a) => a.name), sizes: axes.map((a) => a.size) };
  const common = { whyslow: 1, run: idOf(run) };
  const ranks = run.files.map(({ rank }) => {
    const local = rank % settings.ranksPerHost;
    const anchor = (at: string, us: number) => ({
      at,
      wall_ns: WALL_NS + Math.round(1e3 * shown(clockOf(settings, rank), us)),
      monotonic_ns: Math.round(1e3 * us),
    });
    const device = { type: 'cuda', index: local, name: 'NVIDIA H200', pci_bus_id: 16 * (local + 1) };
    return {
      path: `ranks/rank_${rank}.json`,
      text: json({
        ...common,
        rank,
        local_rank: local,
        host: `node-${hostOf(settings, rank)}`,
        pid: 1000 + rank,
        device: { ...device, pci_domain_id: 0, pci_device_id: 0 },
        coordinates: coordinates(rank),
        anchors: [anchor('start', 0), anchor('end', 1e6)],
        overhead: { share: 0.001 },
        dropped: {},
      }),
    };
  });
  const whole = { ...common, world_size: settings.ranks, mesh, schedule: { record_every_n_steps: 1 } };
  const versions = { torch: '2.13.0', python: '3.12.3', cuda: '13.0', whyslow_capture: '0.1.0' };
  const head = { ...whole, versions, command: ['train.py'], started_ns: WALL_NS };
  return [{ path: 'run.json', text: json(head) }, ...ranks];
}

/** What the zoo's H200 shows at full load. */
const BUSY = { watts: 690, clock: 1755, celsius: 62 };
const HOT = 88;
const SAMPLES = 30;
const HEADER = `# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk  pviol  tviol
# Idx      W      C      C      %      %    MHz    MHz      %   bool
`;

/** `telemetry/dmon-<host>.txt` of each host: GPUs whose clock is held down by heat run slower and hotter. */
export function toTelemetry(run: SimulatedRun): SimulatedText[] {
  const { settings, work } = run.job;
  const { fault, ranks, ranksPerHost } = settings;
  const slow = new Set(fault?.kind === 'clock' ? fault.ranks : []);
  const factor = 1 + ((fault?.size ?? 0) * settings.stepMs * 1000) / work.computeUs;
  const row = (rank: number, sample: number) => {
    const hot = slow.has(rank);
    const clock = Math.round(BUSY.clock / (hot ? factor : 1)) + (sample % 3) - 1;
    const watts = Math.round(BUSY.watts / (hot ? factor : 1));
    const cells = [rank % ranksPerHost, watts, hot ? HOT : BUSY.celsius, '-', 100, 40, 3201, clock];
    // A third of the time.
    return [...cells, hot ? 0 : 100, hot && sample % 3 === 0 ? 1 : 0].map((c) => `${c}`.padStart(7)).join('');
  };
  const hosts = Array.from({ length: Math.ceil(ranks / ranksPerHost) }, (_, host) => host);
  return hosts.map((host) => {
    const own = Array.from({ length: ranks }, (_, r) => r).filter((r) => hostOf(settings, r) === host);
    const rows = Array.from({ length: SAMPLES }, (_, s) => own.map((rank) => `${row(rank, s)} \n`)).flat();
    return { path: `telemetry/dmon-node-${host}.txt`, text: `${HEADER}${rows.join('')}` };
  });
}

/** Writes what capture leaves behind; traces or event logs, or both. */
export function writeCapture(
  run: SimulatedRun,
  folder: string,
  what: { readonly traces?: boolean; readonly logs?: boolean; readonly telemetry?: boolean },
): void {
  const logs = toEventLogs(run).map(({ name, text }) => ({ path: `cuda_event_profiler/${name}`, text }));
  const traces = run.files.map((file) => ({ path: `traces/step_0/${file.name}`, text: file.json }));
  const texts: readonly SimulatedText[] = [
    ...toManifests(run),
    ...(what.telemetry ? toTelemetry(run) : []),
    ...(what.logs ? logs : []),
    ...(what.traces ? traces : []),
  ];
  for (const { path, text } of texts) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}
