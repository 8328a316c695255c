/** How far the page of a server is. Asked for again and again while a job runs. */
export interface PageState {
  /** `empty`: nothing was named to open. `whole`: read once. `running` and `ended`: a job that is being measured. */
  readonly of: 'empty' | 'whole' | 'running' | 'ended';
  /** Grows with every diagnosis. 0: there is none yet. */
  readonly version: number;
  /** The last step that was recorded. Null: none. */
  readonly lastStep: number | null;
  /** Seconds since the last diagnosis. */
  readonly age: number;
  /** Where the measurements are. Null: nowhere. */
  readonly folder: string | null;
}
