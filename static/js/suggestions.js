// What the last word of a search box may go on as: the browser's own list, filled by the server while somebody types.
const list = document.getElementById("search-suggestions");
const PAUSE = 150; // ms without a key
let waiting = 0;
let typing = null;

function option(text) {
  const element = document.createElement("option");
  element.value = text;
  return element;
}

async function suggest(field) {
  typing?.abort();
  typing = new AbortController();
  const address = `${field.dataset.suggest}?q=${encodeURIComponent(field.value)}`;
  try {
    const answer = await fetch(address, { signal: typing.signal, headers: { "HX-Request": "true" } });
    if (!answer.ok) return;
    const { suggestions } = await answer.json();
    list.replaceChildren(...suggestions.map(option));
  } catch {
    // Another key was pressed, or there is no connection: the search itself says so.
  }
}

document.addEventListener("input", (event) => {
  const field = event.target.closest?.("[data-suggest]");
  if (!field || !list) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => suggest(field), PAUSE);
});
