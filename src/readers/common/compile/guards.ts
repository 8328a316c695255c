import type { GuardKind } from '../../../model/compile-log.js';

export interface GuardText {
  readonly kind: GuardKind;
  readonly subject: string;
  readonly dimension: number | null;
  readonly values: readonly string[];
  readonly text: string;
}

type Take = (match: RegExpExecArray) => Omit<GuardText, 'text' | 'subject'> & { readonly subject?: string };

const about = (kind: GuardKind, dimension: number | null = null, ...values: string[]) => ({
  kind,
  dimension,
  values,
});

/** Texts of failed guards as torch 2.1 to 2.13 write them. The first group is what the guard is about. */
const PATTERNS: readonly (readonly [RegExp, Take])[] = [
  [
    /^tensor '([^ ]{1,200})' size mismatch at index (\d{1,3})\. expected (-?\d{1,18}), actual (-?\d{1,18})/,
    (m) => about('size', Number(m[2]), m[3]!, m[4]!),
  ],
  [
    /^tensor '([^ ]{1,200})' rank mismatch\. expected (\d+), actual (\d+)/,
    (m) => about('rank', null, m[2]!, m[3]!),
  ],
  [
    /^tensor '([^ ]{1,200})' dtype mismatch\. expected (\w+), actual (\w+)/,
    (m) => about('dtype', null, m[2]!, m[3]!),
  ],
  [/^tensor '([^ ]{1,200})' requires_grad mismatch/, () => about('grad-mode')],
  [/^(?:GLOBAL_STATE changed: )?()grad_mode\b/, () => about('grad-mode')],
  [/^()torch\.is_grad_enabled\(\)/, () => about('grad-mode')],
  [
    /^([^ ]{1,200})\.size\(\)\[(\d{1,3})\] (?:==|!=|<=|<|>=|>) (\d{1,18})/,
    (m) => about('size', Number(m[2]), m[3]!),
  ],
  [/^\d{1,18} (?:<=|<) ([^ ]{1,200})\.size\(\)\[(\d{1,3})\]/, (m) => about('size', Number(m[2]))],
  [/^len\(([^ ]{1,200})\) == (\d{1,18})/, (m) => about('length', null, m[2]!)],
  [
    /^(?:___check_(?:obj|type)_id|___check_current_\w{1,40}|___dict_\w{1,40}|check_obj_id)\(([^ ,]{1,200})/,
    () => about('object'),
  ],
  [/^([^ ]{1,200}) is ([^ ]{1,60})/, () => about('object')],
  [/^([^ ]{1,200}) == (-?[^ ]{1,60})/, (m) => about('value', null, m[2]!)],
];

/** What a failed guard is about. The texts have no grammar: what is not known stays `other`, with its text. */
export function parseGuard(logged: string): GuardText {
  // A comment tells where in the source the guard comes from.
  const text = logged.replace(/\s{2,}#.*$/s, '').trim();
  for (const [pattern, take] of PATTERNS) {
    const match = pattern.exec(text);
    if (match) return { subject: plainName(match[1]!), ...take(match), text };
  }
  return { kind: 'other', subject: '', dimension: null, values: [], text };
}

/** `L['self'].scale` is `self.scale` in the code. */
function plainName(subject: string): string {
  return subject.replace(/\b[LG]\['([^']{1,100})'\]/g, '$1').replace(/\._modules\['([^']{1,100})'\]/g, '.$1');
}
