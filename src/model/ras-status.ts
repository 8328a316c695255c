/** What NCCL's RAS answered about a job: how many collectives each rank has launched, and who did not answer. */
export interface RasStatus {
  /** `2025-12-19 13:06:53`, to order several. Empty: unknown. */
  readonly at: string;
  readonly communicators: readonly RasCommunicator[];
}

export interface RasCommunicator {
  /** The same in every answer. */
  readonly hash: string;
  readonly size: number;
  readonly ranks: readonly RasRank[];
}

export interface RasRank {
  /** In the communicator. */
  readonly rank: number;
  readonly host: string;
  readonly pid: number;
  readonly device: number;
  /** Launched so far, by kind. Null: it did not answer. */
  readonly launched: Readonly<Record<string, number>> | null;
  /** It did not answer for a minute, or ended its connections. */
  readonly isDead: boolean;
}
