import { effect, signal } from '@preact/signals';

/** Where the reader looks: a rank, a step, a range of time (ns on the run's clock), a table. Kept in the URL's hash. */
export interface ViewState {
  readonly rank: number | null;
  readonly step: number | null;
  /** From and to. */
  readonly time: readonly [number, number] | null;
  readonly tab: string | null;
}

export const NOWHERE: ViewState = { rank: null, step: null, time: null, tab: null };

/** `#rank=5&step=12&t=FROM-TO&tab=kernels`. What cannot be read is left out. */
export function parseHash(hash: string): ViewState {
  const fields = new URLSearchParams(hash.replace(/^#/, ''));
  const whole = (name: string) =>
    /^\d{1,15}$/.test(fields.get(name) ?? '') ? Number(fields.get(name)) : null;
  const [, from, to] = /^(\d{1,18}(?:\.\d+)?)-(\d{1,18}(?:\.\d+)?)$/.exec(fields.get('t') ?? '') ?? [];
  const time = from !== undefined && Number(to) > Number(from) ? ([Number(from), Number(to)] as const) : null;
  const tab = /^[a-z-]{1,20}$/.test(fields.get('tab') ?? '') ? fields.get('tab') : null;
  return { rank: whole('rank'), step: whole('step'), time, tab };
}

export function formatHash({ rank, step, time, tab }: ViewState): string {
  const fields = [
    rank === null ? '' : `rank=${rank}`,
    step === null ? '' : `step=${step}`,
    time === null ? '' : `t=${Math.round(time[0])}-${Math.round(time[1])}`,
    tab === null ? '' : `tab=${tab}`,
  ];
  return fields.filter(Boolean).join('&');
}

/** The view of this window. Follows the address bar and writes to it without filling the history. */
export function windowView() {
  const view = signal(parseHash(location.hash));
  addEventListener('hashchange', () => {
    if (formatHash(view.peek()) !== location.hash.slice(1)) view.value = parseHash(location.hash);
  });
  effect(() => {
    const hash = formatHash(view.value);
    // In a notebook the page has no address of its own.
    if (hash !== location.hash.slice(1) && location.protocol !== 'about:')
      history.replaceState(null, '', `#${hash}`);
  });
  return view;
}
