import type { Layout } from './layout.js';
import type { Settings } from './options.js';
import type { WorkPlan } from './work-plan.js';

/** What all ranks work on. */
export interface Job {
  readonly settings: Settings;
  readonly layout: Layout;
  readonly work: WorkPlan;
}
