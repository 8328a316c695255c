import { EventLines } from '../../readers/events/event-lines.js';
import { RankSteps, type StepSink } from '../steps/rank-steps.js';
import { GrowingFile } from './growing-file.js';

/** Read at a time. About 20 recorded steps: ranks are followed side by side. */
const CHUNK = 16 << 10;

/** One events file that still grows. */
export class FollowedFile extends GrowingFile {
  readonly steps: RankSteps;

  constructor(path: string, rank: number, sink: StepSink) {
    const steps = new RankSteps(rank, sink);
    const lines = new EventLines(() => steps);
    // Another log begins with a header of its own.
    super(path, { push: (bytes) => lines.push(bytes), restart: () => {} }, CHUNK);
    this.steps = steps;
  }
}
