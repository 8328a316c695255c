/** From a rank's own times to the run's: `run = own * rate + shift`. */
export interface RunClock {
  readonly rate: number;
  readonly shift: number;
}

export const toRun = ({ rate, shift }: RunClock, own: number): number => own * rate + shift;
export const toOwn = ({ rate, shift }: RunClock, run: number): number => (run - shift) / rate;
