import { describeScanner } from '../../../test/helpers/scanner-contract.js';
import { WasmScanner } from './wasm-scanner.js';

describeScanner(() => WasmScanner.create()!);
