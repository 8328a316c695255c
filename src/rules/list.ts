import type { Rule } from './rule.js';

// PLACEHOLDER: stands in until the rules are written.
export const RULES: readonly Rule[] = [];
