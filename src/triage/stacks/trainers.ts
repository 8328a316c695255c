import type { Recording } from '../../model/recording.js';
import { rolesOf } from '../../telemetry/processes/roles.js';

/** Ids of the processes that train. */
export const trainersIn = (recording: Recording): readonly number[] =>
  [...rolesOf(recording)].flatMap(([pid, role]) => (role === 'trainer' ? [pid] : []));
