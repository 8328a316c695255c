import type { Spelled, Target, Values } from './remedy.js';

/** How settings are laid out: arguments of a call, options of a command, keys of a JSON file. */
export interface Form {
  /** The Python call that takes the settings. Null: they go elsewhere. */
  readonly call: string | null;
  readonly open: string;
  readonly between: string;
  /** Between settings that do not fit a line. */
  readonly wrapped: string;
  readonly close: string;
  setting(name: string, value: number | string | boolean): string;
}

export const call = (name: string): Form => ({
  call: name,
  open: `${name}(..., `,
  between: ', ',
  wrapped: ',\n    ',
  close: ')',
  setting: (argument, value) => `${argument}=${value === true ? 'True' : value}`,
});

export const options = (command: string): Form => ({
  call: null,
  open: `${command} `,
  between: ' ',
  wrapped: ' \\\n    ',
  close: '',
  setting: (option, value) => (value === true ? `--${option}` : `--${option} ${value}`),
});

export const json = (file: string): Form => ({
  call: null,
  open: `# ${file}\n`,
  between: ',\n',
  wrapped: ',\n',
  close: '',
  setting: (key, value) => `"${key}": ${value}`,
});

/** Where a framework takes the arguments of an object. */
export interface Place {
  readonly form: Form;
  /** Its own name for an argument. Null: it has no such setting. */
  readonly names?: (argument: string) => string | null;
  /** A comment above the code. */
  readonly where?: string;
}

/** Settings of a framework, and where it takes the arguments of common objects. */
export interface Layout {
  readonly form: Form;
  readonly places: Partial<Readonly<Record<Target, Place>>>;
}

export const PLAIN: Readonly<Record<Target, Place>> = {
  DataLoader: { form: call('DataLoader') },
  DDP: { form: call('DDP') },
  FSDP: { form: call('FSDP') },
};

const COLUMNS = 72;

/** Settings that go to one place. */
interface Settings {
  readonly form: Form;
  readonly where?: string;
  readonly settings: readonly string[];
}

/** One block of code for several changes: settings of the same call are joined. */
export function codeOf(spelled: readonly Spelled[], layout: Layout): string[] {
  return [
    ...spelled.flatMap(({ before = [] }) => before),
    ...settingsIn(spelled, layout).flatMap((found) => blockOf(found)),
    ...spelled.flatMap(({ atStart = [], lines = [] }) => [...atStart, ...lines]),
  ];
}

export function blockOf({ form, where, settings }: Settings): string[] {
  return [...(where === undefined ? [] : [`# ${where}`]), laidOut(form, settings)];
}

export function settingsIn(spelled: readonly Spelled[], layout: Layout): readonly Settings[] {
  const calls = new Map<
    string,
    { readonly form: Form; readonly where?: string; readonly settings: string[] }
  >();
  const add = (form: Form, settings: readonly string[], where?: string) => {
    const known = calls.get(form.open) ?? { form, ...(where === undefined ? {} : { where }), settings: [] };
    for (const setting of settings) if (!known.settings.includes(setting)) known.settings.push(setting);
    if (known.settings.length > 0) calls.set(form.open, known);
  };
  for (const { set = {}, settings = [] } of spelled) {
    add(layout.form, settings);
    for (const target of Object.keys(set) as Target[]) {
      const place = placeOf(target, set[target]!, layout);
      add(place.form, settingsOf(set[target]!, place), place.where);
    }
  }
  return [...calls.values()];
}

/** Arguments that a framework does not take are written for the object itself. */
function placeOf(target: Target, values: Values, { places }: Layout): Place {
  const own = places[target];
  return own && settingsOf(values, own).length > 0 ? own : PLAIN[target];
}

function settingsOf(values: Values, { form, names = (argument) => argument }: Place): string[] {
  return Object.entries(values).flatMap(([argument, value]) => {
    const name = value === false ? null : names(argument);
    return name === null ? [] : [form.setting(name, value)];
  });
}

function laidOut({ open, between, close, wrapped }: Form, settings: readonly string[]): string {
  const line = open + settings.join(between) + close;
  return line.length <= COLUMNS
    ? line
    : `${open.trimEnd()}${wrapped.replace(/^,/, '')}${settings.join(wrapped)}${close}`;
}
