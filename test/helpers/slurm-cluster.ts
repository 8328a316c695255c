import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { hostname, userInfo } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inFolder, type Started, start } from './cli.js';

/** Why there is no Slurm here: a fact about the machine, not a failed test. */
export class NoSlurm extends Error {}

const NODES = ['n1', 'n2'];
/** Debian keeps the daemons where only root's PATH looks. */
const PATH = [process.env.PATH, '/usr/sbin', '/sbin'].join(delimiter);

/**
 * A real Slurm in processes of this machine: a controller and two virtual nodes, gone after `use`. `env` is what salloc needs
 * to find it. Runs as any user, without systemd and without control groups.
 */
export function withSlurm<T>(use: (env: Readonly<Record<string, string>>) => Promise<T>): Promise<T> {
  return inFolder(async (folder) => {
    const version = spawnSync('slurmd', ['-V'], { env: { ...process.env, PATH }, encoding: 'utf8' });
    if (version.error) throw new NoSlurm('slurm-wlm is not installed');
    const socket = join(folder, 'munge');
    await configure(folder, socket, Number(/\d+/.exec(version.stdout)));
    const env = { PATH, SLURM_CONF: join(folder, 'slurm.conf') };
    const daemons: Started[] = [];
    const daemon = (program: string, ...args: string[]) => daemons.push(start(program, args, { env }));
    const kill = () => daemons.forEach(({ child }) => void child.kill('SIGKILL'));
    process.once('exit', kill);
    try {
      daemon('munged', '--foreground', '--force', ...filesOfMunge(folder, socket));
      await works(daemons, () => existsSync(socket));
      daemon('slurmctld', '-D', '-c');
      for (const node of NODES) daemon('slurmd', '-D', '-N', node);
      const nodes = () => spawnSync('sinfo', ['--noheader', '-o', '%D %t'], { env, encoding: 'utf8' }).stdout;
      await works(daemons, () => nodes().trim() === `${NODES.length} idle`);
      return await use(env);
    } finally {
      // The controller first ends its own children; munged must be the last, because the others ask it.
      for (const { child, ended } of daemons.toReversed()) {
        child.kill();
        const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
        await ended.catch(() => {});
        clearTimeout(late);
      }
      process.off('exit', kill);
    }
  });
}

/** Waits until the daemons work. NoSlurm when one of them ends. */
async function works(daemons: readonly Started[], condition: () => boolean): Promise<void> {
  for (const end = Date.now() + 60_000; !condition(); await sleep(100)) {
    const ended = daemons.find(({ child }) => child.exitCode !== null || child.signalCode !== null);
    const last = (ended ?? daemons.at(-1)!).said.stderr.trim().split('\n').at(-1);
    if (ended || Date.now() > end) throw new NoSlurm(`Slurm does not start: ${last}`);
  }
}

const filesOfMunge = (folder: string, socket: string) => [
  `--socket=${socket}`,
  ...['key', 'pid', 'log', 'seed'].map((what) => `--${what}-file=${join(folder, `munge.${what}`)}`),
];

async function configure(folder: string, socket: string, version: number): Promise<void> {
  const host = hostname().split('.')[0]!;
  const user = userInfo().username;
  const [port, ...ports] = await freePorts(NODES.length + 1);
  for (const name of ['state', ...NODES]) await mkdir(join(folder, name));
  await writeFile(join(folder, 'munge.key'), randomBytes(1024), { mode: 0o600 });
  // Nothing here uses control groups. Versions before 23 load their plugin all the same, and only that of v1 asks for none.
  const cgroups = version < 23 ? 'cgroup/v1' : 'disabled';
  await writeFile(join(folder, 'cgroup.conf'), `CgroupPlugin=${cgroups}\n`);
  const lines = [
    'ClusterName=whyslow',
    `SlurmctldHost=${host}(127.0.0.1)`,
    `SlurmctldPort=${port}`,
    `SlurmUser=${user}`,
    `SlurmdUser=${user}`,
    'AuthType=auth/munge',
    `AuthInfo=socket=${socket}`,
    `StateSaveLocation=${join(folder, 'state')}`,
    `SlurmctldPidFile=${join(folder, 'slurmctld.pid')}`,
    `SlurmdPidFile=${join(folder, '%n.pid')}`,
    `SlurmdSpoolDir=${join(folder, '%n')}`,
    'ProctrackType=proctrack/linuxproc',
    'TaskPlugin=task/none',
    'JobAcctGatherType=jobacct_gather/none',
    'SelectType=select/cons_tres',
    'MpiDefault=none',
    // A container may not raise its limits.
    'PropagateResourceLimits=NONE',
    'ReturnToService=2',
    ...NODES.map(
      (node, i) => `NodeName=${node} NodeHostname=${host} NodeAddr=127.0.0.1 Port=${ports[i]} CPUs=1`,
    ),
    `PartitionName=all Nodes=${NODES.join()} Default=YES State=UP`,
  ];
  await writeFile(join(folder, 'slurm.conf'), `${lines.join('\n')}\n`);
}

async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  const ports = await Promise.all(
    servers.map(async (server) => {
      await new Promise((resolve) => server.once('listening', resolve));
      return (server.address() as { port: number }).port;
    }),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
