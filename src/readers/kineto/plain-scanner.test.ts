import { describeScanner } from '../../../test/helpers/scanner-contract.js';
import { PlainScanner } from './plain-scanner.js';

describeScanner(() => new PlainScanner());
