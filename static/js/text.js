// Text mode: a finding leads to its line, and a text that was changed is not left without a question.

const area = document.getElementById("text-text");
let isSaved = false;

function show(line, column) {
  const lines = area.value.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  const text = lines[line - 1] ?? "";
  area.focus();
  area.setSelectionRange(before + Math.min(column - 1, text.length), before + text.length);
  const height = parseFloat(getComputedStyle(area).lineHeight);
  area.scrollTop = Math.max(0, (line - 4) * height);
}

document.addEventListener("click", (event) => {
  const { line, column } = event.target.closest("[data-line]")?.dataset ?? {};
  if (line && area) show(Number(line), Number(column) || 1);
});

document.addEventListener("submit", () => {
  isSaved = !window.htmx;
});
document.addEventListener("htmx:beforeOnLoad", (event) => {
  isSaved ||= Boolean(event.detail.xhr.getResponseHeader("HX-Redirect"));
});
window.addEventListener("beforeunload", (event) => {
  if (area && !isSaved && area.value !== area.defaultValue) event.preventDefault();
});
