export function versionOf(): string;
export function copiesOf(version: string): [path: string, is: string, should: string][];
