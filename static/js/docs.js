// The API documentation: the reader's token fills the examples. It lives in these two fields alone: nothing stores or
// sends it, and it is gone with the tab. Pages of the documentation are swapped, so that it survives going on.
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

chosen?.addEventListener("change", fill);
secret?.addEventListener("input", fill);
document.addEventListener("htmx:afterSettle", () => {
  markPage();
  fill();
});
fill();
