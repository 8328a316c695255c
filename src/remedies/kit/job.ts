/** The job in commands that advice gives: ready to paste if they are known, otherwise words that stand for them. */
export interface Job {
  /** Starts the job: `torchrun --nproc-per-node 2 train.py`. */
  readonly command: string;
  /** The folder with its measurements. */
  readonly folder: string;
  /** Processes of ranks that have not ended, if they are known. */
  readonly processes: ReadonlyMap<number, { readonly pid: number; readonly host: string | null }>;
}

export const UNKNOWN_JOB: Job = { command: 'python train.py', folder: 'OUT', processes: new Map() };
