/** What every rule may need, in one import. Helpers that only a few rules share stand in files of their own beside this. */
export * from './evidence.js';
export * from './host.js';
export * from './price.js';
export * from './rule.js';
export * from './threshold.js';
export * from './work.js';
