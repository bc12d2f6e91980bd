// A search box offers what matches while somebody types: arrows choose, Enter opens or fills in, Esc closes the list.
// `/` and Ctrl+K lead to the box at the top. All boxes of a page share one list, which moves below the box in use.
const list = document.getElementById("search-offers");
const topBox = document.getElementById("top-search");
const PAUSE = 150; // ms without a key
let field = null; // the box in use
let waiting = 0;
let answered = null; // the text that the list is about

const offers = () => [...list.querySelectorAll("[role=option]")];
const chosen = () => list.querySelector('[aria-selected="true"]');

function choose(offer) {
  chosen()?.setAttribute("aria-selected", "false");
  offer?.setAttribute("aria-selected", "true");
  if (!offer) return field.removeAttribute("aria-activedescendant");
  offer.id ||= `offer-${offers().indexOf(offer)}`;
  field.setAttribute("aria-activedescendant", offer.id);
  offer.scrollIntoView({ block: "nearest" });
}

function show(isOpen) {
  list.hidden = !isOpen;
  field?.setAttribute("aria-expanded", String(isOpen));
  if (!isOpen) field?.removeAttribute("aria-activedescendant");
}

async function ask() {
  const [box, text] = [field, field.value];
  const address = new URL(box.dataset.offers, location.href);
  address.searchParams.set("q", text);
  // Not by htmx, which would inherit the attributes of the form around the list.
  const answer = await fetch(address, { headers: { "HX-Request": "true" } }).catch(() => null);
  if (answer?.status === 401) document.dispatchEvent(new CustomEvent("panel:sign-in"));
  const found = answer?.ok ? await answer.text() : null;
  if (found === null || document.activeElement !== box || box !== field || box.value !== text) return;
  list.innerHTML = found;
  answered = text;
  show(offers().length > 0);
  choose(chosen());
}

// A box without scripts is a plain search field; here it becomes a combobox.
function use(box) {
  if (field === box) return;
  show(false);
  [field, answered] = [box, null];
  Object.assign(box, { role: "combobox", ariaExpanded: "false", ariaAutoComplete: "list" });
  box.setAttribute("aria-controls", list.id);
  box.parentElement.classList.add("has-offers");
  box.parentElement.append(list);
  Object.assign(list.style, { top: `${box.offsetTop + box.offsetHeight + 6}px`, left: `${box.offsetLeft}px` });
}

document.addEventListener("focusin", ({ target }) => {
  if (!target.matches?.("[data-offers]")) return;
  use(target);
  if (target === topBox) ask();
});
document.addEventListener("focusout", ({ target }) => target === field && show(false));
document.addEventListener("input", ({ target }) => {
  if (!target.matches?.("[data-offers]")) return;
  use(target);
  clearTimeout(waiting);
  waiting = setTimeout(ask, PAUSE);
});

document.addEventListener("keydown", (event) => {
  const { key } = event;
  if (key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
    if (!topBox || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    topBox.focus();
    return topBox.select();
  }
  if (event.target !== field || event.isComposing) return;
  if (list.hidden) return key === "ArrowDown" ? ask() : undefined;
  if (key === "Escape") {
    event.preventDefault();
    event.stopPropagation();
    return show(false);
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[key];
  if (step) {
    event.preventDefault();
    const all = [null, ...offers()];
    return choose(all[(all.indexOf(chosen()) + step + all.length) % all.length]);
  }
  // What is typed and not answered yet is searched for.
  if (key !== "Enter" || !chosen() || answered !== field.value) return;
  event.preventDefault();
  chosen().click();
}, true);

// The focus stays in the box.
list?.addEventListener("mousedown", (event) => event.preventDefault());
list?.addEventListener("click", (event) => {
  const offer = event.target.closest("[role=option]");
  show(false);
  if (!offer || !("fill" in offer.dataset)) return;
  field.value = offer.dataset.fill;
  field.dispatchEvent(new Event("input", { bubbles: true }));
});
