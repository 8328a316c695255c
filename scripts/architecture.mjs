// `npm run architecture`: draws the import graph in ARCHITECTURE.md again. A test fails when it is out of date.
import { readFileSync, writeFileSync } from 'node:fs';
import { tsImport } from 'tsx/esm/api';

const { pictureOf } = await tsImport('../test/architecture/picture.ts', import.meta.url);
const path = new URL('../ARCHITECTURE.md', import.meta.url);
const [before, rest] = readFileSync(path, 'utf8').split('<!-- import graph -->\n');
const after = rest.split('<!-- end of import graph -->')[1];
writeFileSync(path, `${before}<!-- import graph -->\n${pictureOf()}\n<!-- end of import graph -->${after}`);
