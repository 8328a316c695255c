import type { Check } from './check.js';
import { DATA_CHECKS } from './data-checks.js';
import { ENVIRONMENT_CHECKS } from './environment-checks.js';
import { GPU_CHECKS } from './gpu-checks.js';
import { HOST_CHECKS } from './host-checks.js';
import { TORCH_CHECKS } from './torch-checks.js';

/** All checks, in the order they are shown. */
export const CHECKS: readonly Check[] = [
  ...GPU_CHECKS,
  ...TORCH_CHECKS,
  ...HOST_CHECKS,
  ...DATA_CHECKS,
  ...ENVIRONMENT_CHECKS,
];
