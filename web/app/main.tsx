import { render } from 'preact';
import './theme.css';
import './styles/base.css';
import './styles/verdict.css';
import './styles/findings.css';
import './styles/ranks.css';
import './styles/what-if.css';
import './styles/tables.css';
import './styles/narrow.css';
import './styles/print.css';
import { App } from './app.js';
import { Navigator } from './navigator.js';
import { openSource } from './source.js';
import { windowView } from './view-state.js';

const root = document.createElement('div');
root.id = 'app';
document.body.append(root);

const source = openSource();
source.page().then(
  (page) => render(<App page={page} source={source} navigator={new Navigator(windowView())} />, root),
  (error: unknown) =>
    render(
      <main class="failed">
        <h1>The page could not be read</h1>
        <p>{error instanceof Error ? error.message : String(error)}</p>
        <p>If the file was cut off while it was copied, write it again with whyslow diagnose --html.</p>
      </main>,
      root,
    ),
);
// A printed page has everything on it.
addEventListener('beforeprint', () => {
  for (const details of document.querySelectorAll('details')) details.open = true;
});
