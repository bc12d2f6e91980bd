// Loaded without `defer`, so that a chosen theme is set before the first paint.
"use strict";
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be refused; the system's theme then stays.
}
