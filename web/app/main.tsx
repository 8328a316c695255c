import { render } from 'preact';
import './theme.css';
import './styles/base.css';
import './styles/verdict.css';
import './styles/findings.css';
import './styles/ranks.css';
import './styles/what-if.css';
import './styles/tables.css';
import './styles/live.css';
import './styles/narrow.css';
import './styles/print.css';
import { Root } from './root.js';
import { openSource } from './source.js';

const root = document.createElement('div');
root.id = 'app';
document.body.append(root);
render(<Root source={openSource()} />, root);
// A printed page has everything on it.
addEventListener('beforeprint', () => {
  for (const details of document.querySelectorAll('details')) details.open = true;
});
