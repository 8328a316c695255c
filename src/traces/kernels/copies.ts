import { type CopyDirection, type CopyKind, firstMatch, type NameRule } from './kernel-kind.js';

/**
 * `Memcpy HtoD (Pageable -> Device)` of Kineto; `CopyHostToDevice` of roctracer; `MEMORY_COPY_HOST_TO_DEVICE` of
 * rocprofiler. AMD's blit kernels (`__amd_rocclr_copyBuffer`) do not say.
 */
const DIRECTIONS: readonly NameRule<CopyDirection>[] = [
  { test: /PtoP|PeerToPeer/i, is: 'PtoP' },
  { test: /HtoD|Host_?To_?Device/i, is: 'HtoD' },
  { test: /DtoH|Device_?To_?Host/i, is: 'DtoH' },
  { test: /DtoD|Device_?To_?Device/i, is: 'DtoD' },
  { test: /HtoH|Host_?To_?Host/i, is: 'HtoH' },
];

/** The host's side stands left of the arrow for HtoD, right of it for DtoH; the device's is never either word. */
export function copyKind(name: string): CopyKind {
  const direction = firstMatch(DIRECTIONS, name) ?? 'unknown';
  const hostMemory = /pageable/i.test(name) ? 'pageable' : /pinned/i.test(name) ? 'pinned' : null;
  return { direction, hostMemory };
}
