import type { RuleInfo } from '../rules/kit/rule.js';
import { RULES } from '../rules/rules.js';

/** The knowledge base: what is looked for, why it matters, the fix, its cost and risk. */
export const rules: readonly RuleInfo[] = RULES.map((rule) => rule.info);
