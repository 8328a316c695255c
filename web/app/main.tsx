import { render } from 'preact';
import './theme.css';

render(<h1>whyslow</h1>, document.body);
