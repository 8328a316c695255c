import { share } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import { silentBelow } from './evidence.js';
import { type Silent, silent, threshold } from './rule.js';

export const INPUT_WAIT = threshold(
  'input wait',
  share(0.05),
  'of the step',
  'TensorBoard plugin and XProf: 5%',
);

export const silentIfFed = (view: RankView): Silent | undefined =>
  silentBelow(view, view.time.idle_data, INPUT_WAIT, 'input waits are');

export const NO_WORKERS = silent('no DataLoader with workers found');
