/** What torch's flight recorder kept of one rank: the last collectives that it entered. */
export interface FlightDump {
  readonly groups: readonly DumpedGroup[];
  /** In the order in which they were entered. Of very many, the last. */
  readonly collectives: readonly DumpedCollective[];
}

export interface DumpedGroup {
  /** As in `DumpedCollective.group`. */
  readonly name: string;
  readonly description: string;
  /** Empty: not recorded. */
  readonly ranks: readonly number[];
}

export interface DumpedCollective {
  readonly group: string;
  readonly description: string;
  /** Counts the collectives of a group from 1, the same on all ranks. */
  readonly sequence: number;
  /** `nccl:all_reduce`. */
  readonly name: string;
  /** Sizes of the inputs as JSON, `[[4, 512]]`. */
  readonly sizes: string;
  readonly isDone: boolean;
  /** The GPU has begun it. Null: this backend does not record it. */
  readonly hasStarted: boolean | null;
  /** Nanoseconds since 1970 when it was entered, exact to about 256 ns. */
  readonly enteredNs: number | null;
  /** The line of the job that called it, `train.py:12 in step`. Null: stacks were not recorded. */
  readonly calledFrom: string | null;
}
