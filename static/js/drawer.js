// The review in a drawer over the editor: what its page holds, fetched as a fragment, from its diff to the nodes that
// answer. `panel:review` (detail: the address of the page) opens it; the browser's own dialog keeps the focus in it.
const drawer = document.createElement("dialog");
drawer.id = "review-drawer";
drawer.className = "dialog drawer";
drawer.setAttribute("aria-labelledby", "drawer-title");
const body = document.createElement("div");
body.id = "drawer-body";
body.setAttribute("hx-target", "this");
body.setAttribute("hx-vals", '{"drawer": "1"}'); // so that the server knows for whom a part of the review is
const spoken = document.createElement("div"); // `speak` in panel.js
spoken.className = "sr-only";
spoken.setAttribute("role", "status");
drawer.append(body, spoken);
document.body.append(drawer);

const BEHIND = ["zone-head", "news", "filter-type", "draft-bar"];
let isSending = false;
let isOwnStep = false; // back over the entry that the drawer made
let reason = ""; // as it was typed when the drawer was closed

if (history.state?.drawer) history.replaceState(null, "");

document.addEventListener("panel:review", (event) => {
  htmx.ajax("GET", event.detail, { source: body, target: body, swap: "innerHTML" });
});

body.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target !== body || drawer.open) return;
  drawer.showModal();
  history.pushState({ drawer: true }, "");
  const field = body.querySelector("#id_reason");
  if (field && !field.value) field.value = reason;
});

// Its forms are those of the page; here their answers stay in the drawer.
drawer.addEventListener("submit", (event) => {
  event.preventDefault();
  if (isSending) return;
  isSending = true;
  const { target: form, submitter } = event;
  const values = submitter?.name ? { [submitter.name]: submitter.value } : {};
  htmx.ajax("POST", form.getAttribute("action"), { source: form, target: body, swap: "innerHTML", values });
});

body.addEventListener("htmx:afterRequest", (event) => {
  const { requestConfig, successful, xhr } = event.detail;
  if (requestConfig.verb !== "post") return;
  isSending = false;
  if (successful && !xhr.getResponseHeader("HX-Redirect")) renew();
});

drawer.addEventListener("click", (event) => {
  if (event.target === drawer || event.target.closest("[data-close-drawer]")) drawer.close();
});

drawer.addEventListener("close", () => {
  if (history.state?.drawer) {
    isOwnStep = true;
    history.back();
  }
  reason = body.querySelector("#id_reason")?.value ?? "";
  body.replaceChildren();
  // What had the focus may have been fetched anew meanwhile.
  if (document.activeElement === document.body) document.getElementById("quick-line")?.focus();
});

addEventListener("popstate", (event) => {
  if (!isOwnStep && !drawer.open) return;
  event.stopImmediatePropagation(); // htmx would fetch the whole page
  isOwnStep = false;
  if (drawer.open) drawer.close();
});

// What lies behind is fetched anew while nobody can use it; what is being typed above the records stays.
async function renew() {
  htmx.ajax("GET", location.href, { target: "#rrset-table", swap: "outerHTML" });
  htmx.trigger(document.body, "draft-changed");
  const answer = await fetch(location.href).catch(() => null);
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const id of BEHIND) {
    const [old, fresh] = [document.getElementById(id), page.getElementById(id)];
    if (!old || !fresh) continue;
    old.replaceWith(fresh);
    htmx.process(fresh);
  }
}
