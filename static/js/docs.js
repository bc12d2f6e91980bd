// The API documentation: the reader's token fills the examples, and "Try it" sends it to this panel only. The token is
// in these two fields and is never stored. Pages of the documentation are swapped, so that the fields keep the token.
const chosen = document.getElementById("docs-token");
const secret = document.getElementById("docs-secret");
const placeholder = document.querySelector("[data-secret]")?.textContent ?? "dnsp_YOUR_TOKEN";

function fill() {
  const text = secret?.value.trim() || chosen?.value || placeholder;
  for (const place of document.querySelectorAll("[data-secret]")) place.textContent = text;
}

function markPage() {
  const here = document.getElementById("docs-page")?.dataset.page;
  for (const link of document.querySelectorAll(".docs-nav a")) {
    if (link.getAttribute("href") === here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

async function send(form) {
  const token = secret?.value.trim();
  if (!token) {
    secret?.focus();
    return;
  }
  const body = form.elements.body?.value;
  // A path of another server would get the token.
  const url = new URL(form.elements.path.value, location.origin);
  if (url.origin !== location.origin || !url.pathname.startsWith("/api/")) {
    form.elements.path.focus();
    return;
  }
  const headers = { Authorization: `Bearer ${token}` };
  if (body) headers["Content-Type"] = "application/json";
  const shown = form.querySelector("pre");
  form.querySelector(".code").hidden = false;
  try {
    const answer = await fetch(url, { method: form.dataset.try, headers, body, credentials: "omit" });
    let text = await answer.text();
    try {
      text = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      // Not JSON: shown as it is.
    }
    shown.textContent = `${answer.status} ${answer.statusText}\n${text}`;
  } catch (failure) {
    shown.textContent = String(failure);
  }
}

document.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-try]")) return;
  event.preventDefault();
  send(event.target);
});
chosen?.addEventListener("change", fill);
secret?.addEventListener("input", fill);
document.addEventListener("htmx:afterSettle", () => {
  markPage();
  fill();
});
fill();
