// Live parts: an element with `data-live="2"` gets the event `live` every two seconds while somebody looks, and
// htmx fetches it (`hx-trigger="live"`). Nothing is asked while the tab is hidden or a sign-in is due. When the
// server does not answer, the page says since when, and its numbers turn grey instead of going silently stale.
import { translated } from "./texts.js";

const nextAt = new WeakMap();
let lastAnswerAt = new Date();

function mayAsk() {
  return !document.hidden && !document.querySelector("#sign-in-dialog[open]");
}

// Of a long table only the rows that somebody can see are asked for.
function isSeen(element) {
  const box = element.getBoundingClientRect();
  return box.bottom > 0 && box.top < innerHeight;
}

function tick() {
  if (!mayAsk()) return;
  const now = Date.now();
  for (const element of document.querySelectorAll("[data-live]")) {
    if ("whenSeen" in element.dataset && !isSeen(element)) continue;
    const period = Number(element.dataset.live) * 1000;
    if (!nextAt.has(element)) nextAt.set(element, now + period);
    if (nextAt.get(element) > now) continue;
    nextAt.set(element, now + period);
    element.dispatchEvent(new CustomEvent("live", { bubbles: false }));
  }
}

function setConnected(connected) {
  if (connected) lastAnswerAt = new Date();
  if (connected === !document.body.classList.contains("is-offline")) return;
  document.body.classList.toggle("is-offline", !connected);
  const strip = document.getElementById("offline");
  if (!strip) return;
  const since = document.getElementById("offline-since");
  const time = lastAnswerAt.toLocaleTimeString([], { hourCycle: "h23" });
  since.textContent = translated("Last update: {time}. Reconnecting. Your input won’t be lost.", { time });
  strip.hidden = connected;
}

document.addEventListener("htmx:sendError", () => setConnected(false));
document.addEventListener("htmx:timeout", () => setConnected(false));
document.addEventListener("htmx:afterRequest", (event) => {
  const status = event.detail.xhr?.status ?? 0;
  if (status) setConnected(status < 502 || status > 504);
});
document.addEventListener("panel:answered", (event) => setConnected(event.detail));
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  document.querySelectorAll("[data-live]").forEach((element) => nextAt.set(element, 0));
  tick();
});
setInterval(tick, 250);
