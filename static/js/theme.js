// Loaded without `defer`, so that a chosen theme, and what works only with scripts, is there at the first paint.
"use strict";
document.documentElement.classList.add("js");
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be refused; the system's theme then stays.
}
