import { describeScanner } from '../../../test/helpers/scanner-contract.js';
import { JsScanner } from './js-scanner.js';

describeScanner(() => new JsScanner());
