// Ticks of many rows, and the bar that says what is done with them.
import { translated } from "./texts.js";

const byId = (id) => document.getElementById(id);
const ticks = () => [...document.querySelectorAll("[data-tick]")];
let lastTick = null;

function showTicks() {
  const bar = byId("many");
  if (!bar) return;
  const all = ticks();
  const ticked = all.filter((tick) => tick.checked).length;
  const everything = byId("many-all").checked;
  bar.hidden = !ticked && !everything;
  bar.classList.toggle("is-used", !bar.hidden); // it follows down a long table
  byId("many-count").textContent = everything
    ? translated("All selected")
    : translated("{count} selected", { count: ticked });
  const head = document.querySelector("[data-tick-all]");
  if (!head) return;
  head.hidden = false; // it does nothing without this script
  head.checked = ticked > 0 && ticked === all.length;
  head.indeterminate = ticked > 0 && ticked < all.length;
}

document.addEventListener("click", (event) => {
  const tick = event.target.closest("[data-tick]");
  if (tick && event.shiftKey && lastTick?.isConnected) {
    const all = ticks();
    const [from, to] = [all.indexOf(lastTick), all.indexOf(tick)].sort((one, other) => one - other);
    for (const other of all.slice(from, to + 1)) other.checked = tick.checked;
  }
  if (tick) lastTick = tick;
  if (event.target.matches("[data-tick-all]")) {
    for (const other of ticks()) other.checked = event.target.checked;
  }
  if (tick || event.target.matches("[data-tick-all], #many-all")) showTicks();
});

document.addEventListener("panel:key", (event) => {
  const tick = event.detail.key === "x" && event.detail.row?.querySelector("[data-tick]");
  if (!tick) return;
  tick.checked = !tick.checked;
  lastTick = tick;
  showTicks();
  event.preventDefault();
});

// Enter in a field of the bar presses the button beside it, and never another one.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing || !event.target.matches("#many .menu-ask input")) return;
  event.preventDefault();
  event.target.closest(".menu-ask").querySelector("button").click();
});

document.addEventListener("htmx:afterSettle", showTicks);
showTicks();
