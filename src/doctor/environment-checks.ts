import type { Probe } from '../machine/probe.js';
import { inOneLine, use } from '../remedies/remedies.js';
import { type Check, fail, type Outcome, pass, warn } from './check.js';

interface Fault {
  readonly isFatal?: boolean;
  readonly text: string;
  readonly advice: string;
}

const isOn = (value: string | undefined) =>
  value !== undefined && /^(?:1|true|yes|on|y)$/i.test(value.trim());

export const ENVIRONMENT_CHECKS: readonly Check[] = [
  {
    id: 'nccl',
    title: 'NCCL',
    run: async (probe) => outcome(ncclFaults(probe), ncclWords(probe)),
  },
  {
    id: 'debug',
    title: 'Debugging aids',
    run: async ({ env }) => outcome(debugFaults(env), 'none is on'),
  },
];

function outcome(faults: readonly Fault[], well: string): Outcome {
  if (faults.length === 0) return pass(well);
  const judge = faults.some((f) => f.isFatal) ? fail : warn;
  return judge(faults.map((f) => f.text).join(', '), faults.map((f) => f.advice).join(' '));
}

function ncclWords({ env }: Probe): string {
  const set = Object.keys(env).filter((name) => name.startsWith('NCCL_'));
  return set.length === 0 ? 'no NCCL variable is set' : set.map((name) => `${name}=${env[name]}`).join(', ');
}

function ncclFaults({ env, files }: Probe): Fault[] {
  const off = (name: string, advice: string): Fault[] =>
    isOn(env[name]) ? [{ isFatal: true, text: `${name}=1`, advice }] : [];
  return [
    ...(/^(?:INFO|TRACE)/i.test(env.NCCL_DEBUG ?? '')
      ? [
          {
            text: `NCCL_DEBUG=${env.NCCL_DEBUG}`,
            advice:
              'Unset NCCL_DEBUG after debugging: it writes on every start and, with TRACE, on every call.',
          },
        ]
      : []),
    ...off(
      'NCCL_P2P_DISABLE',
      'Unset NCCL_P2P_DISABLE: GPUs of one machine otherwise copy through host memory.',
    ),
    ...off(
      'NCCL_SHM_DISABLE',
      'Unset NCCL_SHM_DISABLE: ranks of one machine otherwise talk over the network.',
    ),
    ...(files.list('/sys/class/infiniband').length > 0
      ? off('NCCL_IB_DISABLE', 'This machine has InfiniBand or RoCE: unset NCCL_IB_DISABLE.')
      : []),
    ...interfaceFaults(env.NCCL_SOCKET_IFNAME, files.list('/sys/class/net')),
  ];
}

/** `eth,ib`: prefixes; `=eth0`: exact names; `^docker`: all but these. */
function interfaceFaults(wanted: string | undefined, present: readonly string[]): Fault[] {
  if (!wanted || wanted.startsWith('^') || present.length === 0) return [];
  const isExact = wanted.startsWith('=');
  const names = wanted.replace(/^=/, '').split(',');
  const found = present.filter((own) =>
    names.some((name) => (isExact ? own === name : own.startsWith(name))),
  );
  const text = `NCCL_SOCKET_IFNAME=${wanted}`;
  if (found.length === 0)
    return [{ isFatal: true, text, advice: `There is no such interface; there are ${present.join(', ')}.` }];
  return found.every((name) => /^(?:lo|docker|veth|virbr)/.test(name))
    ? [
        {
          text,
          advice: 'That interface does not leave this machine: ranks elsewhere cannot be reached through it.',
        },
      ]
    : [];
}

function debugFaults(env: Probe['env']): Fault[] {
  const on = (name: string, advice: string, isFatal = false): Fault[] =>
    isOn(env[name]) ? [{ isFatal, text: `${name}=${env[name]}`, advice }] : [];
  return [
    ...on('CUDA_LAUNCH_BLOCKING', inOneLine(use('async-launches')), true),
    ...on('PYTHONDEVMODE', 'Unset PYTHONDEVMODE.'),
    ...on(
      'PYTORCH_NO_CUDA_MEMORY_CACHING',
      'Unset PYTORCH_NO_CUDA_MEMORY_CACHING: every tensor calls cudaMalloc.',
      true,
    ),
    ...(/^DETAIL$/i.test(env.TORCH_DISTRIBUTED_DEBUG ?? '')
      ? [
          {
            text: 'TORCH_DISTRIBUTED_DEBUG=DETAIL',
            advice: 'Unset it: every collective is checked against all ranks.',
          },
        ]
      : []),
    ...(env.TORCH_LOGS
      ? [{ text: `TORCH_LOGS=${env.TORCH_LOGS}`, advice: 'Unset TORCH_LOGS after debugging.' }]
      : []),
  ];
}
