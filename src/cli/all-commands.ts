import { type Commands, runCommandLine } from './main.js';

const COMMANDS: Commands = {
  diagnose: async () => (await import('./commands/diagnose.js')).registerDiagnose,
  open: async () => (await import('./commands/open.js')).registerOpen,
  run: async () => (await import('./commands/run.js')).registerRun,
  try: async () => (await import('./commands/try.js')).registerTry,
  capture: async () => (await import('./commands/capture.js')).registerCapture,
  compare: async () => (await import('./commands/compare.js')).registerCompare,
  triage: async () => (await import('./commands/triage.js')).registerTriage,
  doctor: async () => (await import('./commands/doctor.js')).registerDoctor,
  inspect: async () => (await import('./commands/inspect.js')).registerInspect,
  export: async () => (await import('./commands/export.js')).registerExport,
  sql: async () => (await import('./commands/sql.js')).registerSql,
  slim: async () => (await import('./commands/slim.js')).registerSlim,
  merge: async () => (await import('./commands/merge.js')).registerMerge,
  facts: async () => (await import('./commands/facts.js')).registerFacts,
  lint: async () => (await import('./commands/lint.js')).registerLint,
  rules: async () => (await import('./commands/rules.js')).registerRules,
};

export const main = (argv: readonly string[]) => runCommandLine(argv, COMMANDS);
