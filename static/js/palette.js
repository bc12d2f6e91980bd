// Ctrl+K opens the palette over any page: arrows choose, Enter opens, Esc closes. The server says what there is.
const dialog = document.getElementById("palette");
const field = document.getElementById("palette-text");
const offers = () => [...dialog.querySelectorAll("[data-offer]")];
const chosen = () => dialog.querySelector('[data-offer][aria-selected="true"]');

function choose(offer) {
  chosen()?.removeAttribute("aria-selected");
  if (!offer) return field.removeAttribute("aria-activedescendant");
  offer.id ||= `offer-${offers().indexOf(offer)}`;
  offer.setAttribute("aria-selected", "true");
  field.setAttribute("aria-activedescendant", offer.id);
  offer.scrollIntoView({ block: "nearest" });
}

function open() {
  if (document.querySelector("dialog[open]")) return;
  dialog.showModal();
  field.select();
  htmx.trigger(field, "palette-opened");
}

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  if (!dialog) return;
  event.preventDefault();
  if (dialog.open) dialog.close();
  else open();
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-opens-palette]")) open();
  if (event.target === dialog) dialog.close(); // beside it
});

dialog?.addEventListener("keydown", (event) => {
  const all = offers();
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || !all.length) return;
  event.preventDefault();
  choose(all[(all.indexOf(chosen()) + step + all.length) % all.length]);
});

// What is typed and not answered yet is searched for; else Enter opens what is chosen.
let answered = "";
dialog?.addEventListener("htmx:afterSwap", () => {
  answered = field.value;
  choose(offers()[0]);
});
dialog?.addEventListener("submit", (event) => {
  if (!chosen() || answered !== field.value) return;
  event.preventDefault();
  chosen().click();
});
// A click may lead to another row of the same page: then nothing else would close it.
dialog?.addEventListener("click", (event) => {
  if (event.target.closest("[data-offer]")) dialog.close();
});
