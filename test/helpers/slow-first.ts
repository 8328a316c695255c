import { readFileSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that start programs come first, those with torch before the others: while they wait, other files use the
 * processor. By their size, which is vitest's order where it has not run before, many would come last and leave it idle.
 */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project.name))];
    const place = ({ project, moduleId }: TestSpecification) =>
      10 * projects.indexOf(project.name) + turnOf(moduleId);
    return sorted
      .map((file) => ({ file, at: place(file) }))
      .sort((a, b) => a.at - b.at)
      .map(({ file }) => file);
  }
}

function turnOf(path: string): number {
  if (!/\/test\/(?:e2e|browser)\//.test(path)) return 2;
  return readFileSync(path, 'utf8').includes('describeWithTorch') ? 0 : 1;
}
