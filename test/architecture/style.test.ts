import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { sourceFiles, sourceText } from './import-graph.js';
import { proseFiles, proseIn, proseOf } from './prose.js';

// More than about 120,000 arguments overflow the stack, and how many there are depends on the input.
it('sources spread no list into the arguments of push, Math.max and Math.min', () => {
  const spreading =
    /(?:\.(?:push|unshift|concat)|\bMath\.(?:max|min))\((?:[^()[\]{}]|\([^()]*\)|\[[^[\]]*\])*?\.\.\..*/g;
  const found = sourceFiles().flatMap((file) =>
    [...sourceText(file).matchAll(spreading)].map(([call]) => `${file} ${call}`),
  );
  expect(found).toEqual([]);
});

// `...{ a, b }` switches off the check for properties that a type does not have: write the properties out.
it('sources spread no object literals', () => {
  const found = sourceFiles().flatMap((file) =>
    sourceText(file)
      .split('\n')
      .flatMap((line, i) => (line.includes('...{') ? [`${file}:${i + 1} ${line.trim()}`] : [])),
  );
  expect(found).toEqual([]);
});

// What is written elsewhere is not made harmless: names of files and kernels reach terminals.
it('only cli/common/output.ts writes to the standard outputs', () => {
  const naming = (pattern: RegExp) => sourceFiles().filter((file) => pattern.test(sourceText(file)));
  expect(naming(/\bconsole\.|\bprocess\.(?:stdout|stderr)\b/)).toEqual(['cli/main.ts']);
  expect(naming(/\b(?:new Output\()/)).toEqual(['cli/main.ts']);
  const written = [...sourceText('cli/main.ts').matchAll(/process\.std(?:out|err)[.,)]\w*/g)].map(
    ([use]) => use,
  );
  expect([...new Set(written)].sort()).toEqual([
    'process.stderr)',
    'process.stderr.on',
    'process.stdout)',
    'process.stdout.on',
  ]);
});

// Longer lines wrap on a terminal of 80 columns. A command to copy stays on one line.
it('texts below the help of commands fit 80 columns', () => {
  const found = sourceFiles()
    .filter((file) => file.startsWith('cli/'))
    .flatMap((file) => [...sourceText(file).matchAll(/^const EXAMPLES = `([^`]*(?:\\`[^`]*)*)`;/gm)])
    .flatMap(([, text]) => text!.replaceAll('\\`', '`').split('\n'))
    .filter((line) => line.length > 80 && !line.startsWith('  $ '));
  expect(found).toEqual([]);
});

it('the README has at most 120 lines', () => {
  const text = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(120);
});

// CONTRIBUTING.md, "Words". Every pattern is at zero, so none may come back.
/** Files that quote nvidia-smi, which writes a space before the percent sign. */
const QUOTES_NVIDIA_SMI = /(?:dmon|doctor|machine|nvidia-smi)/;
const UNIT =
  '(?:ms|µs|MB|kB|GB|bytes|launches|kernels|all_reduces|results|calls|times|frames|reads|samples|switches|ticks|entries|collectives|events|windows|incidents|iterations)';
const SINGLE =
  '(?:step|second|minute|hour|day|rank|batch|launch|gradient|parameter|seed|host|node|iteration)';
const BRITISH =
  'utilis|synchronis|recognis|summaris|organis|optimis|normalis|initialis|serialis|minimis|maximis|visualis|realis|generalis|specialis|daemonis|quantis|tokenis|vectoris|analys(?:e|ed|ing)\\b|colour|neighbour|behaviour|favour|honour|labell(?!edby)|modell|cancell(?!ation)|licence|centre\\b|grey\\b';
const AVOIDED: readonly (readonly [string, RegExp])[] = [
  ['a space before a percent sign', /(?:\d|\}) %(?=[`'",.;:)”]|\s|$)/gm],
  ['"a step" for "per step"', new RegExp(`(?!Times a host)\\b${UNIT} an? ${SINGLE}\\b`, 'gi')],
  ['"told" and "said"', /\b(?:told|said)\b/gi],
  ['"tell" for "show" or "distinguish"', /\b(?:does not|do not|cannot|can) tell\b|\btells? apart\b/gi],
  ['"beside"', /(?<![\w./`'-])beside\b(?![\w.`'-])/gi],
  ['files and numbers that lie somewhere', /\blies?\b/gi],
  ['"of which"', /\bof (?:which|whom)\b/gi],
  ['"brings" for "gains"', /\b(?:brings?|brought)\b/gi],
  [
    '"some 25" for "about 25"',
    /\bsome (?:\d|ten\b|twenty|thirty|forty|fifty|hundred|tens|seconds|minutes|milliseconds)/gi,
  ],
  ['"where" without a subject', /(?:^|[.!?] |\/\*\* )(?:Not|Null|None|Only|Else|False|True) where\b/gm],
  [
    'translated words',
    /\b(?:weigh(?:ed|s)?|mended|for ever|misspelt|at first sight|clean truth|false promises?)\b/gi,
  ],
  [
    '"logs of torch.compile" for "torch.compile logs"',
    /\b(?:stacks?|logs?|dumps?|configurations?|traces?) of (?:py-spy|torch\.compile|DeepSpeed|NCCL|nvidia-smi|Kineto)\b/gi,
  ],
  [
    '"anymore", "in order to" and other long ways',
    /\banymore\b|\bin order to\b|\bdue to the fact\b|\bwith regard to\b|\bin the case that\b/gi,
  ],
  ['translated headings', /^#+ (?:How right|What it withstands|Doing it again|What it cannot know)/gm],
  ['British spelling', new RegExp(`\\b\\w*(?:${BRITISH})\\w*`, 'gi')],
];

it.each(AVOIDED)('prose has no %s (CONTRIBUTING.md, Words)', (name, pattern) => {
  const isPercent = name.includes('percent');
  const found = proseFiles()
    .filter((file) => !(isPercent && QUOTES_NVIDIA_SMI.test(file)))
    .flatMap((file) => {
      const text = proseOf(file);
      return [...text.matchAll(pattern)].map((hit) => {
        const [from, to] = [Math.max(0, hit.index - 40), hit.index + hit[0].length + 40];
        return `${file}: …${text.slice(from, to).replaceAll('\n', ' ')}…`;
      });
    });
  expect(found).toEqual([]);
});

it('prose of a source file is its comments and texts, without names', () => {
  const source = `const said = \`a \${told}\`; // why\nf('beside', 'next to it');`;
  expect(proseIn('x.ts', source)).toBe("`a {}`\n// why\n'next to it'");
  expect(proseIn('x.py', 'said = 1  # a comment\n"""Docs."""')).toBe('# a comment\n"""Docs."""');
});
