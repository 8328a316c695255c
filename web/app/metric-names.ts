import type { StepMetric } from '../../src/page/page-data.js';
import { className } from './words.js';

/** What cells of the heat map can show. */
export const metricName = (name: StepMetric['name']): string =>
  name === 'step' ? 'Step time' : name === 'own' ? 'Own time, without communication' : className(name);
