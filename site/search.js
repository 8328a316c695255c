// Looks for words in titles and headings. The index is a script, so that it also works for pages opened as files.
(() => {
  const input = document.getElementById('search');
  const hits = document.getElementById('hits');
  const MOST = 12;
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found =
      words.length === 0
        ? []
        : window.SITE_INDEX.filter(({ text }) => words.every((w) => text.toLowerCase().includes(w)));
    hits.replaceChildren(
      ...found.slice(0, MOST).map(({ at, text }) => {
        const link = document.createElement('a');
        link.href = input.dataset.up + at;
        link.textContent = text;
        const item = document.createElement('li');
        item.append(link);
        return item;
      }),
    );
    if (words.length > 0 && found.length === 0) hits.textContent = 'Nothing found.';
    if (found.length > MOST) hits.append(`${found.length - MOST} more`);
    hits.hidden = words.length === 0;
  };
  input.addEventListener('input', show);
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') hits.querySelector('a')?.click();
    if (event.key === 'Escape') {
      input.value = '';
      show();
    }
  });
})();
