// `node scripts/same-reports.mjs BEFORE AFTER PATH…`: diagnoses each PATH with two checkouts of whyslow and lists the fields
// of the reports that differ. For changes that must not change any figure. Each PATH is one run. Exit 1: something differs.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const [before, after, ...paths] = process.argv.slice(2);
if (paths.length === 0) {
  console.error('usage: node scripts/same-reports.mjs BEFORE AFTER PATH…   (two checkouts, then runs)');
  process.exit(2);
}
/** What changes from run to run, or with the checkout. */
const NOT_COMPARED = new Set(['tool', 'reading']);

function report(checkout, command, path) {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [join(checkout, 'bin/whyslow.js'), command, path, '--json'],
    { encoding: 'utf8', maxBuffer: 1 << 30 },
  );
  return stdout.startsWith('{') ? JSON.parse(stdout) : { exit: status, stderr };
}

/** Sums in another order differ in the last digits. */
const sameFigure = (a, b) =>
  typeof a === 'number' && typeof b === 'number' && Math.abs(a - b) <= 1e-12 * Math.max(1, Math.abs(a));

/** `a.b.0.c: 1 → 2` for every leaf that differs. */
function differences(a, b, at = '') {
  if (Object.is(a, b) || sameFigure(a, b)) return [];
  const bothObjects = typeof a === 'object' && typeof b === 'object' && a !== null && b !== null;
  if (!bothObjects) return [`${at}: ${JSON.stringify(a)} → ${JSON.stringify(b)}`];
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((k) => !NOT_COMPARED.has(k));
  return keys.flatMap((key) => differences(a[key], b[key], at === '' ? key : `${at}.${key}`));
}

let differing = 0;
for (const path of paths) {
  for (const command of ['diagnose', 'inspect']) {
    const found = differences(report(before, command, path), report(after, command, path));
    if (found.length === 0) continue;
    differing++;
    console.log(`${command} ${path}`);
    for (const line of found.slice(0, 40)) console.log(`  ${line.slice(0, 400)}`);
    if (found.length > 40) console.log(`  … ${found.length - 40} more`);
  }
}
console.log(`${paths.length} runs, ${differing} reports differ`);
process.exitCode = differing > 0 ? 1 : 0;
