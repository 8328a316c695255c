import { type CopyDirection, type CopyKind, firstMatch, type NameRule } from './kernel-kind.js';

/**
 * `Memcpy HtoD (Pageable -> Device)` of Kineto; `CopyHostToDevice` of roctracer; `MEMORY_COPY_HOST_TO_DEVICE` of
 * rocprofiler. AMD's blit kernels (`__amd_rocclr_copyBuffer`) do not say.
 */
const DIRECTIONS: readonly NameRule<CopyDirection>[] = [
  [/PtoP|PeerToPeer/i, 'PtoP'],
  [/HtoD|Host_?To_?Device/i, 'HtoD'],
  [/DtoH|Device_?To_?Host/i, 'DtoH'],
  [/DtoD|Device_?To_?Device/i, 'DtoD'],
  [/HtoH|Host_?To_?Host/i, 'HtoH'],
];

/** `Pageable` or `Pinned` is always the host's side: the device's memory has neither word. */
export function copyKind(name: string): CopyKind {
  const direction = firstMatch(DIRECTIONS, name) ?? 'unknown';
  const hostMemory = /pageable/i.test(name) ? 'pageable' : /pinned/i.test(name) ? 'pinned' : null;
  return { direction, hostMemory };
}
