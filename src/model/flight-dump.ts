/** What torch's flight recorder kept of one rank: the last collectives, sends and receives that it entered. */
export interface FlightDump {
  /** Empty with gloo, which does not record them. */
  readonly groups: readonly DumpedGroup[];
  /** In the order in which they were entered. Of very many, the last. */
  readonly calls: readonly DumpedCall[];
}

export interface DumpedGroup {
  /** As in `DumpedCall.group`. */
  readonly name: string;
  readonly description: string;
  /** Empty: not recorded. */
  readonly ranks: readonly number[];
  /** The last call that the rank entered, whether or not the recorder still has it. Null: not recorded. */
  readonly entered: number | null;
}

export interface DumpedCall {
  readonly group: string;
  readonly description: string;
  /** Counts the collectives of a group from 1, the same on all ranks. For sends and receives every rank counts its own. */
  readonly sequence: number;
  /** `all_reduce`, `send`. */
  readonly name: string;
  /** Sends and receives: the other rank, by its position in the group. Null: a collective. */
  readonly peer: number | null;
  /** Sizes of the inputs as JSON, `[[4, 512]]`. */
  readonly sizes: string;
  /** Types of the inputs, `Float, Long`. */
  readonly types: string;
  readonly isDone: boolean;
  /** Nanoseconds since 1970 when it was entered, exact to about 256 ns. */
  readonly enteredNs: number | null;
  /** How long it took on the GPU. Null: the recorder did not time it. */
  readonly durationMs: number | null;
  /** The line of the job that called it, `train.py:12 in step`. Null: stacks were not recorded. */
  readonly calledFrom: string | null;
}
