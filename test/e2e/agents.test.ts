import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerOf, type Question } from '../../bench/agents/answers.js';
import { program, root } from '../helpers/cli.js';

const { questions }: { questions: Question[] } = JSON.parse(
  readFileSync(join(root, 'bench/agents/questions.json'), 'utf8'),
);
/** One or two of each kind; `npm run eval:agents` asks all. */
const ASKED = [
  'late-data',
  'late-in-turns',
  'late-nobody',
  'limit-launches',
  'limit-from-log',
  'gain-layout',
  'gain-reads',
  'helped-pinned',
  'helped-not',
  'helped-nothing',
  'step-inline',
  'kernel-norm',
];

describe('questions with measured answers', () => {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: {} });
  beforeAll(() =>
    client.connect(
      new StdioClientTransport({ command: process.execPath, args: [program(), 'mcp'], cwd: root }),
    ),
  );
  afterAll(() => client.close());

  it.each(ASKED)('a question with a measured answer is answered right through the tools: %s', async (id) => {
    const question = questions.find((q) => q.id === id)!;
    const { answer, right } = await answerOf(client, question);
    expect(right, `${question.ask} ${answer}`).toBe(true);
  });
});
