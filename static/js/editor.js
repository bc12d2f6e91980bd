// The zone editor on top of its plain pages: rows that open where they are clicked, keys, quick add, rows that
// arrive in their place. Nothing here knows DNS; the server says what a row is and where it sorts.
import { translated } from "./texts.js";

const byId = (id) => document.getElementById(id);
// A field that somebody made larger carries a style, which the policy of the page forbids to copy.
htmx.config.attributesToSettle = ["class"];
const rows = () => [...document.querySelectorAll("#rrsets > tbody[data-order]")].filter((row) => row.dataset.order);

// Who comes from a search finds the row in focus: its keys work at once.
document.querySelector("#rrsets > tbody:target .row-link")?.focus({ preventScroll: true });

// ── Rows open where they are clicked ──────────────────────────────────────────────────────────────────────────

function openRow(row, field) {
  const link = row?.querySelector("[data-edit]");
  if (!link) return false;
  const address = `${link.getAttribute("href")}&focus=${field}`;
  htmx.ajax("GET", address, { source: link, target: row, swap: "outerHTML" });
  return true;
}

// Rows are many and say what they do once, as plain links and buttons; here their answers replace the row alone.
document.addEventListener("click", (event) => {
  const act = event.target.closest("#rrsets :is([data-edit], [data-delete], [data-undo])");
  if (!act || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  const [verb, address] = act.matches("a") ? ["GET", act.getAttribute("href")] : ["POST", act.formAction];
  htmx.ajax(verb, address, { source: act, target: act.closest("tbody"), swap: "outerHTML" });
});

document.addEventListener("click", (event) => {
  const cell = event.target.closest("#rrsets .rrset:not(.is-editing) td:not(.col-acts)");
  if (!cell || event.target.closest("a, button, input, textarea, label, summary")) return;
  if (String(getSelection()).trim()) return; // somebody marks text to copy it
  openRow(cell.closest("tbody"), /col-(\w+)/.exec(cell.className)[1]);
});

document.addEventListener("click", (event) => {
  const target = event.target.closest("[data-close], [data-close-panel]");
  if (!target) return;
  event.preventDefault();
  if ("closePanel" in target.dataset) {
    byId("paste-panel")?.replaceChildren();
    byId("quick-line")?.focus();
    return;
  }
  const row = target.closest("tbody");
  row.replaceChildren();
  row.className = "";
  row.hidden = true;
  row.removeAttribute("data-row");
  byId("quick-line")?.focus();
});

// The field that the server names gets the focus (panel.js); what it holds is ready to be replaced or continued.
document.addEventListener("focus-on", () => {
  const field = document.activeElement;
  if (!field?.closest(".is-editing")) return;
  if (field.matches("input")) field.select();
  else if (field.matches("textarea")) field.setSelectionRange(field.value.length, field.value.length);
});

// ── Keys ──────────────────────────────────────────────────────────────────────────────────────────────────────

const OPEN = "tbody.is-editing, [data-panel]"; // what somebody may be typing into
const FIELD_OF_KEY = { e: "values", t: "ttl", c: "comment" };
const BUTTON_OF_KEY = { d: "[data-delete]", u: "[data-undo]", h: "[data-history]", o: "[data-form]" };

document.addEventListener("panel:key", (event) => {
  const { key, row } = event.detail;
  if (!row?.closest("#rrsets")) return;
  const button = BUTTON_OF_KEY[key] && row.querySelector(BUTTON_OF_KEY[key]);
  if (button) button.click();
  if (button || (FIELD_OF_KEY[key] && openRow(row, FIELD_OF_KEY[key]))) event.preventDefault();
});

const shownPart = () => document.querySelector("dialog[open]") ?? document;

document.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  const row = event.target.closest?.(OPEN);
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    if (row) row.querySelector("[data-row-form]").requestSubmit();
    else shownPart().querySelector("[data-ctrl-enter]:not(:disabled)")?.click();
  } else if (event.key === "Enter" && !event.shiftKey && row?.matches("tbody") && event.target.matches("textarea")) {
    event.preventDefault();
    row.querySelector("[data-row-form]").requestSubmit();
  } else if (event.key === "Escape" && row) {
    event.preventDefault();
    row.querySelector("[data-cancel]").click();
  } else if (event.key === "Escape" && event.target.id === "quick-line") {
    event.target.blur();
  } else if (event.key === "ArrowDown" && event.target.id === "quick-line") {
    const first = document.querySelector("#rrsets .row-link");
    if (first) event.preventDefault();
    first?.focus();
  }
});

// ── Quick add: lines can be typed and sent faster than they travel ────────────────────────────────────────────

let travelling = null; // the line that is on its way
let waiting = []; // lines that were sent meanwhile
let leaving = null; // the link that was pressed before the last line has arrived

// A refused line comes back into the field, or beneath it while something else is being typed there.
function giveBack(line) {
  const field = byId("quick-line");
  if (!field.value) {
    field.value = line;
    return true;
  }
  const item = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "btn-link mono";
  button.textContent = line;
  item.append(translated("Not added:"), " ", button);
  byId("quick-refused").append(item);
  return false;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("#quick-refused button");
  if (!button) return;
  const field = byId("quick-line");
  const typed = field.value;
  field.value = button.textContent;
  if (typed) button.textContent = typed;
  else button.closest("li").remove();
  field.focus();
  field.dispatchEvent(new Event("input", { bubbles: true }));
});

document.addEventListener(
  "submit",
  (event) => {
    const field = byId("quick-line");
    if (event.target.id !== "quick" || event.submitter?.matches(".choice")) return;
    if (travelling === null || !event.isTrusted) return;
    event.preventDefault();
    event.stopPropagation();
    if (field.value.trim()) waiting.push(field.value);
    field.value = "";
  },
  true,
);

document.addEventListener("htmx:configRequest", (event) => {
  const { elt, parameters } = event.detail;
  const field = byId("quick-line");
  // What is on its way, or has just been refused, needs no reading of its own.
  if (elt.id === "quick-line" && (travelling !== null || elt.hasAttribute("aria-invalid"))) event.preventDefault();
  if (elt.id !== "quick") return;
  travelling ??= field.value;
  parameters.line = travelling;
  if (field.value === travelling) field.value = "";
});

document.addEventListener("htmx:afterRequest", (event) => {
  const field = byId("quick-line");
  if (event.detail.elt.id !== "quick" || !field) return;
  const line = travelling;
  travelling = null;
  if (event.detail.xhr.status !== 200) {
    leaving = null;
    const isBack = giveBack(line);
    if (isBack && event.detail.xhr.status === 422) field.setAttribute("aria-invalid", "true");
  }
  if (waiting.length) {
    travelling = waiting.shift();
    htmx.trigger(byId("quick"), "submit");
  } else if (leaving) {
    saveRowsThenGo(leaving);
  } else if (event.detail.xhr.status === 200 && field.value) {
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
});

document.addEventListener("input", (event) => {
  if (event.target.id === "quick-line") event.target.removeAttribute("aria-invalid");
});

document.addEventListener("paste", (event) => {
  const address = event.target.dataset?.paste;
  const text = event.clipboardData?.getData("text/plain") ?? "";
  if (!address || !text.trim().includes("\n")) return;
  event.preventDefault();
  htmx.ajax("POST", address, { target: "#paste-panel", swap: "innerHTML", values: { text } });
});

// ── The side panel ────────────────────────────────────────────────────────────────────────────────────────────

let openedPanel = null; // what had the focus when it was opened

// A page has many of these links, so they carry nothing but their address.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-form]");
  if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  htmx.ajax("GET", link.getAttribute("href"), { source: link, target: "#typed-panel", swap: "outerHTML" });
});

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-close-side]")) return;
  event.preventDefault();
  byId("typed-panel").replaceChildren();
  (document.contains(openedPanel) ? openedPanel : byId("quick-line"))?.focus();
});

document.addEventListener("htmx:beforeRequest", (event) => {
  const { elt, target } = event.detail;
  if (target?.id !== "typed-panel") return;
  if (!elt.closest("#typed-panel")) openedPanel = elt;
  const checks = byId("typed-checks"); // a late answer would complain of what is not there any more
  if (checks) htmx.trigger(checks, "htmx:abort");
});

// A row or a line that goes on in the panel is not left open beside it.
document.addEventListener("htmx:afterRequest", (event) => {
  const { elt, successful } = event.detail;
  if (!successful) return;
  if (elt.matches("[data-to-panel]")) elt.closest("tbody")?.querySelector("[data-cancel]").click();
  if (!elt.matches("[data-takes-line]")) return;
  byId("quick-line").value = "";
  byId("quick-line").dispatchEvent(new Event("input", { bubbles: true }));
});

// Faults come out of band, each beneath its field, while the field keeps what is typed and the focus.
document.addEventListener("htmx:oobAfterSwap", (event) => {
  const { id } = event.detail.target;
  if (!id?.endsWith("-error")) return;
  const field = byId(id.slice(0, -"-error".length));
  if (!field?.matches("input, textarea, select")) return;
  if (byId(id).textContent) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
});

// ── Leaving: what was typed into open rows is saved first; what cannot be saved stays ─────────────────────────────

const rowsUnderWay = new Map(); // the form of each row that is being saved → resolved with the status
let isGoing = false; // saved all that can be: nobody need be asked

function isTouched(field) {
  if (field.matches("select")) return [...field.options].some((option) => option.selected !== option.defaultSelected);
  return field.type === "checkbox" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
}

function hasTyped(row) {
  const fields = row.querySelectorAll("input:not([type=hidden]), textarea, select");
  return "unsaved" in row.dataset || [...fields].some(isTouched);
}

const typedRows = () => [...document.querySelectorAll(OPEN)].filter(hasTyped);

document.addEventListener("htmx:beforeRequest", (event) => {
  const form = event.detail.elt;
  if (!form.matches?.("[data-row-form]")) return;
  let done;
  const saved = new Promise((resolve) => {
    done = resolve;
  });
  rowsUnderWay.set(form, { saved, done });
});

document.addEventListener("htmx:afterRequest", (event) => {
  const form = event.detail.requestConfig?.elt ?? event.detail.elt;
  rowsUnderWay.get(form)?.done(event.detail.xhr.status);
  rowsUnderWay.delete(form);
});

async function isSaved(row) {
  const form = row.querySelector("[data-row-form]");
  if (!rowsUnderWay.has(form)) form.requestSubmit();
  const status = await rowsUnderWay.get(form)?.saved;
  if (status === 200) return true;
  // A refused row is drawn again, with its fault focused (panel.js); one that found no server is as it was.
  byId(row.id)?.querySelector("[aria-invalid=true], .choice, textarea")?.focus();
  return false;
}

async function saveRowsThenGo(address) {
  leaving = null;
  for (const row of typedRows()) if (!(await isSaved(row))) return;
  if (opensDrawer(address)) return document.dispatchEvent(new CustomEvent("panel:review", { detail: address }));
  isGoing = true;
  location.assign(address);
}

// Looked up when the rows are saved: with them the draft may have grown beyond a drawer.
const opensDrawer = (address) => document.querySelector("#draft-bar [data-drawer]")?.href === address;

// A page of one row alone sends it by itself, and is told where to go on.
function sendOnlyRow(link) {
  const row = typedRows().find((each) => !each.querySelector("[data-row-form]").matches("[hx-post]"));
  if (!row || !link.matches("[data-ctrl-enter]")) return false;
  const form = row.querySelector("[data-row-form]");
  form.elements.from.value = "review";
  isGoing = true;
  form.requestSubmit();
  return true;
}

const leadsAway = (link, event) =>
  event.button === 0 &&
  !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.defaultPrevented) &&
  link.origin === location.origin &&
  !link.matches("[target], [download], [hx-get], [data-close], [data-close-panel], [data-cancel]") &&
  !link.getAttribute("href").startsWith("#");

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || !leadsAway(link, event)) return;
  const isFree = travelling === null && !rowsUnderWay.size && !typedRows().length;
  if (isFree && !(link.matches("#draft-bar a") && opensDrawer(link.href))) return;
  event.preventDefault();
  if (travelling !== null) leaving = link.href;
  else if (!sendOnlyRow(link)) saveRowsThenGo(link.href);
});

// Reloading and closing cannot wait for a server: the browser asks. A row that is sent, or given up, is none of it.
document.addEventListener("submit", (event) => {
  if (event.target.matches("[data-row-form]:not([hx-post])")) isGoing = true;
});
document.addEventListener("click", (event) => {
  if (event.target.closest("a[data-cancel]:not([hx-get])")) isGoing = true;
});
addEventListener("pageshow", () => {
  isGoing = false;
});
addEventListener("beforeunload", (event) => {
  const line = byId("quick-line")?.value.trim();
  if (!isGoing && (line || travelling !== null || typedRows().length)) event.preventDefault();
});

// ── What blocks publishing is told anew with the draft bar, and marked in whichever rows it is ────────────────────

document.addEventListener("htmx:oobAfterSwap", (event) => {
  if (event.detail.target?.id !== "draft-bar") return;
  document.querySelectorAll("#rrsets [data-blocked]").forEach((note) => note.remove());
  for (const blocked of document.querySelectorAll("#blocking-rows [data-blocks]")) {
    const cell = byId(blocked.dataset.blocks)?.querySelector("td.col-values");
    if (!cell || cell.closest(".is-editing")) continue;
    const note = byId("blocked-note").content.firstElementChild.cloneNode(true);
    note.querySelector("[data-reason]").textContent = blocked.dataset.reason;
    cell.append(note);
  }
});

// ── Rows that come out of band go to the place that their order says ──────────────────────────────────────────

let openRows = [];
let arriving = []; // the ids of the rows

document.addEventListener("htmx:oobBeforeSwap", (event) => {
  if (event.detail.target?.id !== "rrsets") return;
  arriving = [];
  for (const row of event.detail.fragment.querySelectorAll("tbody[id]")) {
    arriving.push(row.id);
    const there = byId(row.id);
    if (there?.classList.contains("is-editing"))
      row.remove(); // what is being typed there stays
    else there?.remove();
    row.classList.add("is-new");
  }
});

document.addEventListener("htmx:oobAfterSwap", (event) => {
  if (event.detail.target?.id !== "rrsets") return;
  byId("no-rows")?.remove();
  document.querySelectorAll("#rrsets > tbody.is-new").forEach(place);
  groupNames();
  // The row may have its place far below; the field that it was typed into stays in view (editor.css).
  if (arriving.length === 1) byId(arriving[0])?.scrollIntoView({ block: "nearest" });
});

function place(row) {
  // Where another column sorts, only the server knows the place: what is new stands on top until it is asked again.
  if (byId("rrsets").hasAttribute("data-sorted")) return rows().find((other) => other !== row)?.before(row);
  const next = rows().find((other) => other !== row && other.dataset.order > row.dataset.order) ?? byId("more-rows");
  if (next) next.before(row);
  setTimeout(() => row.classList.remove("is-new"), 1600);
}

function groupNames() {
  let above = null;
  for (const row of rows()) {
    row.classList.toggle("repeats-name", row.dataset.name !== undefined && row.dataset.name === above);
    above = row.dataset.name ?? null;
  }
}

// The filter's types are counted anew with each change of the draft; what was chosen stays chosen.
let chosenType = "";

document.addEventListener("htmx:oobBeforeSwap", (event) => {
  if (event.detail.target?.id === "filter-type") chosenType = event.detail.target.value;
});

document.addEventListener("htmx:oobAfterSwap", (event) => {
  if (event.detail.target?.id === "filter-type") event.detail.target.value = chosenType;
});

// Filtering and refreshing replace the table; rows that are being edited survive it with what was typed.
document.addEventListener("htmx:beforeSwap", (event) => {
  const target = event.detail.target;
  if (target?.id === "rrset-table") openRows = [...target.querySelectorAll("tbody.is-editing")];
  // A row that goes away hands the focus to its neighbour.
  if (target?.matches?.("#rrsets > tbody") && !event.detail.serverResponse.trimStart().startsWith("<tbody")) {
    const all = rows();
    const at = all.indexOf(target);
    const neighbour = all[at + 1] ?? all[at - 1];
    setTimeout(() => {
      if (document.activeElement === document.body) neighbour?.querySelector(".row-link")?.focus();
    }, 20);
  }
});

document.addEventListener("htmx:afterSwap", (event) => {
  if (!byId("rrsets") || !event.detail.target.matches("tbody, #rrset-table")) return;
  for (const row of openRows) {
    const there = byId(row.id);
    if (there && there !== row) there.replaceWith(row);
    else if (!there) {
      byId("rrsets").append(row);
      place(row);
    }
  }
  openRows = [];
  groupNames();
});

// An empty filter needs no place in the address.
document.addEventListener("htmx:configRequest", (event) => {
  // After Enter, what was just typed is asked about no more.
  const isAnswered = event.detail.elt.id === "quick-line" && document.querySelector("#quick-below .is-ok");
  if (isAnswered && !event.detail.elt.value.trim()) event.preventDefault();
  if (!event.detail.elt.matches(".editor-filter")) return;
  const { parameters } = event.detail;
  for (const name of ["q", "type", "in"]) if (parameters[name] === "") delete parameters[name];
});
