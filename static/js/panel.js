// What every page needs: htmx's settings, toasts, focus after a swap, theme, menus, keys.
// Scripts of single pages listen to `panel:key` (detail: key, row) and may preventDefault() it.
import { csrfToken } from "./csrf.js";
import { translated } from "./texts.js";

const byId = (id) => document.getElementById(id);

// ── htmx ──────────────────────────────────────────────────────────────────────────────────────────────────────

// A refused form (422) and a conflict (409) come back as the fragment to show; other errors, and those that are a
// plain text (a quota, a hold), are not swapped.
const SHOWN_ERRORS = new Set([422, 409]);

document.addEventListener("htmx:beforeSwap", (event) => {
  if (SHOWN_ERRORS.has(event.detail.xhr.status) && !plainText(event.detail.xhr)) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
});

document.addEventListener("htmx:configRequest", (event) => {
  const token = csrfToken();
  if (!token) return;
  event.detail.headers["X-CSRFToken"] = token;
  // Not `in`: htmx's parameters have their members only for who reads them.
  if (event.detail.parameters.csrfmiddlewaretoken) event.detail.parameters.csrfmiddlewaretoken = token;
});

let requestsUnderWay = 0;
const isQuiet = (element) => element.closest?.("[data-live], [data-quiet]");

document.addEventListener("htmx:beforeRequest", (event) => {
  if (isQuiet(event.detail.elt)) return;
  requestsUnderWay += 1;
  document.documentElement.classList.add("is-busy");
  event.detail.target?.setAttribute("aria-busy", "true");
});

document.addEventListener("htmx:afterRequest", (event) => {
  if (isQuiet(event.detail.elt)) return;
  requestsUnderWay = Math.max(0, requestsUnderWay - 1);
  if (!requestsUnderWay) document.documentElement.classList.remove("is-busy");
  event.detail.target?.removeAttribute("aria-busy");
});

const plainText = (xhr) => (xhr.getResponseHeader("Content-Type")?.startsWith("text/plain") ? xhr.responseText : "");

document.addEventListener("htmx:responseError", (event) => {
  const { status } = event.detail.xhr;
  if (status === 401) {
    // `sign_in_again.js` asks on top of the page, and repeats the request.
    document.dispatchEvent(new CustomEvent("panel:sign-in", { detail: event.detail.requestConfig }));
    return;
  }
  if (isQuiet(event.detail.elt)) return;
  if (status === 403) {
    const refusal = plainText(event.detail.xhr) || translated("You don’t have permission.");
    return toast("bad", `${refusal} ${translated("Nothing was changed.")}`);
  }
  if (plainText(event.detail.xhr)) return toast("bad", plainText(event.detail.xhr));
  const id = event.detail.xhr.getResponseHeader("X-Request-ID");
  const failed = translated("Request failed (HTTP {status}). Nothing was changed. Try again.", { status });
  toast("bad", id ? `${failed} ${translated("Request ID")}: ${id}` : failed);
});

document.addEventListener("htmx:afterSwap", (event) => {
  if (isQuiet(event.detail.elt) && !event.detail.elt.matches("form")) return;
  const within = document.contains(event.detail.target) ? event.detail.target : document;
  const next = within.querySelector('[aria-invalid="true"], [data-focus]');
  next?.focus();
});

document.querySelector('main [aria-invalid="true"]')?.focus();

// ── Events the server sends by HX-Trigger ─────────────────────────────────────────────────────────────────────

// Nothing behind an open dialog is heard, so a dialog that stays open has a region of its own.
const liveRegion = () => document.querySelector("dialog[open] > [role=status]") ?? byId("live-region");
const unspoken = [];

function speak(text) {
  unspoken.push(text);
  liveRegion().textContent = "";
  requestAnimationFrame(() => {
    if (unspoken.length) liveRegion().textContent = unspoken.splice(0).join(" ");
  });
}

// A part that replaces itself says a new state here: a live region in it would be new with each answer, and not heard.
const said = new Map();

function sayStates() {
  for (const element of document.querySelectorAll("[data-says]")) {
    const { id } = element.closest("[id]");
    const text = element.textContent.replace(/\s+/g, " ").trim();
    if (text !== said.get(id) && (said.has(id) || element.dataset.says)) speak(text);
    said.set(id, text);
  }
}

document.addEventListener("htmx:afterSettle", sayStates);
// The region of a new page is heard only after a moment.
const messages = [...document.querySelectorAll("[data-toast] p")];
setTimeout(() => {
  messages.forEach((message) => speak(message.textContent));
  sayStates();
}, 500);

function toast(kind, text) {
  const element = byId("toast-template").content.firstElementChild.cloneNode(true);
  element.classList.add(`is-${kind}`);
  element.querySelector("p").textContent = text;
  const use = element.querySelector(".icon use");
  const icon = { warn: "alert", bad: "error" }[kind];
  if (icon) use.setAttribute("href", use.getAttribute("href").replace(/#.*/, `#${icon}`));
  byId("toasts").append(element);
  speak(text);
  fade(element, kind === "bad" ? 12000 : 5000);
}

function fade(element, milliseconds) {
  setTimeout(() => (element.matches(":hover, :focus-within") ? fade(element, 2000) : element.remove()), milliseconds);
}

document.addEventListener("toast", (event) => toast(event.detail.kind ?? "ok", event.detail.text));
document.addEventListener("speak", (event) => speak(event.detail.value ?? event.detail.text));
document.addEventListener("focus-on", (event) => document.querySelector(event.detail.value)?.focus());
document.querySelectorAll("[data-toast]").forEach((element) => fade(element, 8000));

// ── Theme ─────────────────────────────────────────────────────────────────────────────────────────────────────

function showTheme() {
  const chosen = document.documentElement.dataset.theme ?? "";
  for (const button of document.querySelectorAll("[data-theme-choice]")) {
    button.setAttribute("aria-pressed", String(button.dataset.themeChoice === chosen));
  }
}

function chooseTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  try {
    if (theme) localStorage.setItem("theme", theme);
    else localStorage.removeItem("theme");
  } catch {
    // Storage may be refused; the choice then lasts as long as the page.
  }
  showTheme();
  document.dispatchEvent(new CustomEvent("panel:theme"));
}

showTheme();

// ── Menus, dialogs, copying ───────────────────────────────────────────────────────────────────────────────────

// A menu that wants something typed is ready for it.
document.addEventListener(
  "toggle",
  (event) => {
    if (event.target.matches("details[data-menu][open]")) event.target.querySelector(".menu-ask .input")?.focus();
  },
  true,
);

function openModal(dialog) {
  dialog?.close(); // a page without a script shows it in its flow
  dialog?.showModal();
}
openModal(document.querySelector("dialog[data-modal]"));

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details[data-menu][open]")) {
    if (!menu.contains(event.target) || event.target.closest(".menu-list a")) menu.open = false;
  }
  const target = event.target.closest("[data-opens], [data-dismiss], [data-theme-choice], [data-copy]");
  if (!target) return;
  if (target.dataset.opens) {
    event.preventDefault(); // without a script, a link shows the dialog in the page
    openModal(byId(target.dataset.opens));
  }
  if ("dismiss" in target.dataset) target.closest("[data-toast]").remove();
  if ("themeChoice" in target.dataset) chooseTheme(target.dataset.themeChoice);
  if ("copy" in target.dataset) copy(byId(target.dataset.copy));
});

async function copy(source) {
  const text = source.value ?? source.textContent.trim();
  try {
    await navigator.clipboard.writeText(text);
    toast("ok", translated("Copied."));
  } catch {
    getSelection().selectAllChildren(source);
    toast("warn", translated("The browser didn’t allow copying. Copy the selected text manually."));
  }
}

// A second click while the first is on its way does not send the form twice; going back makes it usable again.
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || event.target.method === "dialog" || event.target.matches("[hx-get], [hx-post]")) return;
  if (event.target.dataset.sent) return event.preventDefault();
  if (event.target.method === "post") event.target.dataset.sent = "yes";
});
addEventListener("pageshow", () => {
  document.querySelectorAll("form[data-sent]").forEach((form) => {
    delete form.dataset.sent;
  });
});

// ── Keys ──────────────────────────────────────────────────────────────────────────────────────────────────────

const isTyping = (element) =>
  element.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
const isShown = (element) => element.getClientRects().length > 0;
let goPressedAt = 0;

function currentRow() {
  return document.activeElement?.closest?.("[data-row]") ?? null;
}

function moveRow(step) {
  const rows = [...document.querySelectorAll("[data-row]")].filter(isShown);
  if (!rows.length) return;
  const at = rows.indexOf(currentRow());
  const next = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step))];
  (next.querySelector(".row-link") ?? next.querySelector("a, button") ?? next).focus();
  next.scrollIntoView({ block: "nearest" });
}

function pressFor(key) {
  const element = [...document.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)].find(isShown);
  if (!element) return false;
  if (element.matches("input, textarea, select")) {
    element.focus();
    element.select?.();
  } else {
    element.click();
  }
  return true;
}

function panelKey(key) {
  if (key === "g") {
    goPressedAt = Date.now();
    return true;
  }
  if (Date.now() - goPressedAt < 1200) {
    goPressedAt = 0;
    const link = document.querySelector(`[data-go="${CSS.escape(key)}"]`);
    link?.click();
    return Boolean(link);
  }
  const event = new CustomEvent("panel:key", { detail: { key, row: currentRow() }, cancelable: true });
  if (!document.dispatchEvent(event)) return true;
  if (key === "j" || key === "k") {
    moveRow(key === "j" ? 1 : -1);
    return true;
  }
  if (key === "?") {
    byId("keys-dialog")?.showModal();
    return true;
  }
  return pressFor(key);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape") {
    document.querySelectorAll("details[data-menu][open]").forEach((menu) => {
      menu.open = false;
      menu.querySelector("summary").focus();
    });
    if (event.target.id === "top-search") event.target.blur();
    return;
  }
  if (event.key.length !== 1 || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  if (panelKey(event.key)) event.preventDefault();
});

// The dialog lists the keys of the frame, of this page's fields and buttons, and then of its rows.
const keyed = document.querySelectorAll('[data-key]:not([data-key="/"])');
for (const element of new Map([...keyed].reverse().map((each) => [each.dataset.key, each])).values()) {
  const entry = byId("key-template").content.cloneNode(true);
  entry.querySelector("kbd").textContent = element.dataset.key;
  entry.querySelector("dd").textContent = (element.labels?.[0] ?? element).textContent.trim();
  byId("keys-list")?.append(entry);
}
const pageKeys = byId("page-keys");
if (pageKeys) byId("keys-list")?.append(pageKeys.content.cloneNode(true));
