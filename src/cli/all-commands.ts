import { type CommandGroups, runCommandLine } from './main.js';

const GROUPS: CommandGroups = {
  'Every day:': {
    run: async () => (await import('./commands/run.js')).registerRun,
    diagnose: async () => (await import('./commands/diagnose.js')).registerDiagnose,
    compare: async () => (await import('./commands/compare.js')).registerCompare,
    open: async () => (await import('./commands/open.js')).registerOpen,
  },
  'On the training machine:': {
    watch: async () => (await import('./commands/watch.js')).registerWatch,
    triage: async () => (await import('./commands/triage.js')).registerTriage,
    try: async () => (await import('./commands/try.js')).registerTry,
    capture: async () => (await import('./commands/capture.js')).registerCapture,
    doctor: async () => (await import('./commands/doctor.js')).registerDoctor,
  },
  'Data for other tools:': {
    inspect: async () => (await import('./commands/inspect.js')).registerInspect,
    export: async () => (await import('./commands/export.js')).registerExport,
    sql: async () => (await import('./commands/sql.js')).registerSql,
    slim: async () => (await import('./commands/slim.js')).registerSlim,
    merge: async () => (await import('./commands/merge.js')).registerMerge,
    facts: async () => (await import('./commands/facts.js')).registerFacts,
  },
  'Knowledge:': {
    rules: async () => (await import('./commands/rules.js')).registerRules,
    lint: async () => (await import('./commands/lint.js')).registerLint,
  },
};

export const main = (argv: readonly string[]) => runCommandLine(argv, GROUPS);
