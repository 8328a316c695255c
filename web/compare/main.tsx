import { render } from 'preact';
import '../app/theme.css';
import '../app/styles/base.css';
import '../app/styles/verdict.css';
import '../app/styles/findings.css';
import '../app/styles/ranks.css';
import '../app/styles/tables.css';
import './styles/answer.css';
import './styles/history.css';
import './styles/changes.css';
import '../app/styles/narrow.css';
import '../app/styles/print.css';
import { unpack } from '../../src/base/packed.js';
import type { CompareReport } from '../../src/compare/compare-report.js';
import { embeddedBytes } from '../app/embedded-bytes.js';
import { Failed } from '../app/failed.js';
import { openWhenPrinted } from '../app/open-when-printed.js';
import { showMarks } from '../timeline/visible-marks.js';
import { ComparePage } from './compare-page.js';

showMarks();
const root = document.createElement('div');
root.id = 'app';
document.body.append(root);
embeddedBytes('whyslow-compare')
  .then((bytes) => render(<ComparePage report={unpack<CompareReport>(bytes)} />, root))
  .catch((error: unknown) => render(<Failed why={String(error)} command="whyslow compare --html" />, root));
openWhenPrinted();
