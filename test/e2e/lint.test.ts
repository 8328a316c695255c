import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder, whyslow } from '../helpers/cli.js';

const FAULTY = `import torch
from torch.utils.data import DataLoader

loader = DataLoader(data, batch_size=8, pin_memory=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    with torch.autocast("cuda"):
        loss = model(x.cuda(non_blocking=True))
    loss.backward()
    optimizer.step()
    print(loss.item())
`;

/** Runs lint in a folder with these files. */
const lint = (files: Readonly<Record<string, string>>, ...args: string[]) =>
  inFolder((folder) => {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(folder, name, '..'), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    return whyslow(['lint', ...args], { cwd: folder });
  });

describe('whyslow lint', () => {
  it('prints where, why and what to do', async () => {
    const { stdout, code } = await lint({ 'train.py': FAULTY }, 'train.py');
    expect(code).toBe(0);
    expect(stdout).toContain('train.py:4:10  T4 num-workers-zero\n    loader = DataLoader(data');
    expect(stdout).toContain('  fix: num_workers=N');
    expect(stdout).toContain('train.py:11:11  T23 host-sync');
    expect(stdout).toContain('2 findings in 1 of 1 file.');
  });

  it('prints the same as JSON', async () => {
    const { stdout } = await lint({ 'train.py': FAULTY }, 'train.py', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      schema: 'whyslow/lint/1',
      findings: [
        {
          rule: 'T4',
          id: 'num-workers-zero',
          file: 'train.py',
          line: 4,
          column: 10,
          message: expect.stringContaining('num_workers'),
          fix: expect.stringContaining('num_workers=N'),
        },
        { rule: 'T23', line: 11 },
      ],
      files: [{ path: 'train.py', findings: 2, ignored: 0, problems: [] }],
      tool: { name: 'whyslow' },
    });
  });

  it('prints SARIF', async () => {
    const { stdout } = await lint({ 'train.py': FAULTY }, 'train.py', '--format', 'sarif');
    const log = JSON.parse(stdout) as { version: string; runs: { results: { ruleId: string }[] }[] };
    expect([log.version, log.runs[0]!.results.map((r) => r.ruleId)]).toEqual([
      '2.1.0',
      ['num-workers-zero', 'host-sync'],
    ]);
  });

  it.each([
    ['T4', 1],
    ['t23,W4', 1],
    ['num-workers-zero', 1],
    ['any', 1],
    ['T14,W3', 0],
  ])('--fail-on %s exits %i', async (rules, expected) => {
    expect((await lint({ 'train.py': FAULTY }, 'train.py', '--fail-on', rules)).code).toBe(expected);
  });

  it('searches directories, and skips the code of others', async () => {
    const { stdout, code } = await lint(
      { 'src/a.py': FAULTY, 'src/b/c.py': 'x = 1\n', 'src/.venv/d.py': FAULTY, 'src/notes.txt': FAULTY },
      'src',
      '--json',
    );
    const { files } = JSON.parse(stdout) as { files: { path: string }[] };
    expect([code, files.map((f) => f.path)]).toEqual([0, ['src/a.py', 'src/b/c.py']]);
  });

  it('reads the code of notebooks and counts lines in their cells', async () => {
    const cell = (source: string) => ({ cell_type: 'code', source: source.split(/(?<=\n)/) });
    const [imports, rest] = FAULTY.split(/\n\n/) as [string, string];
    const cells = [
      { cell_type: 'markdown', source: ['# Training'] },
      cell(`%matplotlib inline\n${imports}`),
      cell(rest),
    ];
    const { stdout } = await lint({ 'a.ipynb': JSON.stringify({ cells }) }, 'a.ipynb');
    expect(stdout).toContain('a.ipynb, cell 3:1:10  T4 num-workers-zero');
    expect(stdout).toContain('a.ipynb, cell 3:8:11  T23 host-sync');
  });

  it('says what it could not read, and checks the rest', async () => {
    const { stdout, code } = await lint(
      { 'a.py': `${FAULTY}\nx = = 1\n`, 'b.py': `#${'x'.repeat(1 << 20)}`, 'c.py': 'x\0', 'd.ipynb': '{' },
      '.',
    );
    expect(code).toBe(0);
    expect(stdout).toContain('a.py: not understood in line 13; faults there may be missed.');
    expect(stdout).toContain('b.py: not checked: it has more than 1 MB.');
    expect(stdout).toContain('c.py: not checked: c.py is not a text file.');
    expect(stdout).toContain('d.ipynb: it is not a notebook');
    expect(stdout).toContain('2 findings in 1 of 4 files.');
  });

  it('makes what it quotes harmless', async () => {
    const { stdout } = await lint(
      { 'a.py': FAULTY.replace('model(x', 'model("\x1b[31m", x').replace('data,', '"\x1b]0;x\x07",') },
      'a.py',
    );
    expect(stdout).not.toContain('\x1b');
  });

  it.each([
    ['a file that is not there', ['none.py'], 'none.py: no such file or directory'],
    ['a folder without scripts', ['empty'], 'empty: no Python scripts'],
    ['a rule that it does not check', ['a.py', '--fail-on', 'T1'], 'lint does not check a rule T1'],
    ['an empty list', ['a.py', '--fail-on', ''], 'It must be a list of rules'],
    ['an unknown format', ['a.py', '--format', 'xml'], 'Allowed choices are text, json, sarif'],
    ['nothing', [], 'missing required argument'],
  ])('exits 2 for %s', async (_, args, message) => {
    const { stderr, code } = await lint({ 'a.py': FAULTY, 'empty/readme.txt': '' }, ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});
