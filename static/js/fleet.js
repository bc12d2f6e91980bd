// The charts of one node: second by second, fetched while somebody looks, or minutes of a day and hours of a month;
// a gap in the numbers is a gap in the line.
import { translated } from "./texts.js";

const box = document.getElementById("charts");
const HOUR = 3600;
const DAY = 86400;
const STEP_MS = 30000; // how often minutes and hours are fetched again
// [time, qps, noerror, nxdomain, servfail, other, latency, cache, udp4, tcp4, udp6, tcp6]; a gap has only its time
let points = [];
let shownSeconds = 600;
let step = ""; // "minute" or "hour" while more than an hour is shown
let askedAt = 0;
let charts = [];

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// light-dark() stays unresolved in a custom property; a real property of an element resolves it.
const probe = document.createElement("span");
probe.hidden = true;
document.body.append(probe);
function paint(name) {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color || color(name);
}
const faded = (rgb, alpha) => rgb.replace(/^rgb\(([^)]*)\)$/, `rgba($1, ${alpha})`);
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const day = (time) => new Date(time * 1000).toLocaleDateString([], { day: "numeric", month: "short" });
const clock = (time) =>
  `${shownSeconds > HOUR ? `${day(time)} ` : ""}${new Date(time * 1000).toLocaleTimeString([], { hourCycle: "h23" })}`;
const shortClock = (time) =>
  shownSeconds > DAY
    ? day(time)
    : new Date(time * 1000).toLocaleTimeString([], {
        hour: "2-digit",
        minute: "2-digit",
        second: time % 60 ? "2-digit" : undefined,
        hourCycle: "h23",
      });

const CHARTS = [
  {
    id: "chart-qps",
    height: 256,
    series: [[translated("Queries"), 1, "--chart-1"]],
    fill: true,
    unit: "q/s",
    format: fine,
    least: 10,
  },
  {
    id: "chart-rcodes",
    height: 144,
    unit: "/s",
    format: fine,
    stacked: true,
    least: 10,
    series: [
      ["NOERROR", 2, "--chart-2"],
      ["NXDOMAIN", 3, "--chart-3"],
      ["SERVFAIL", 4, "--chart-4"],
      [translated("other"), 5, "--chart-5"],
    ],
  },
  {
    id: "chart-transport",
    height: 144,
    unit: "/s",
    format: fine,
    stacked: true,
    least: 10,
    series: [
      ["UDP, IPv4", 8, "--chart-1"],
      ["TCP, IPv4", 9, "--chart-2"],
      ["UDP, IPv6", 10, "--chart-3"],
      ["TCP, IPv6", 11, "--chart-5"],
    ],
  },
  {
    id: "chart-latency",
    height: 144,
    series: [[translated("Latency"), 6, "--chart-5"]],
    unit: "ms",
    format: fine,
    least: 0.2,
  },
  {
    id: "chart-cache",
    height: 144,
    series: [[translated("Cache hits"), 7, "--chart-2"]],
    unit: "%",
    format: whole,
    scale: 100,
    top: 100,
  },
];

// Column by column for uPlot; the nulls of a gap break the line there.
function columns(chart) {
  const from = (points.at(-1)?.[0] ?? Date.now() / 1000) - shownSeconds;
  const rows = points.filter((point) => point[0] >= from);
  const values = chart.series.map(([, column]) =>
    rows.map((row) => (row[column] == null ? null : row[column] * (chart.scale ?? 1))),
  );
  return { times: rows.map((row) => row[0]), values };
}

// The lowest band is drawn last: each line is the sum of those below it.
function stacked(values) {
  const sums = values.map((column) => column.slice());
  for (let band = 1; band < sums.length; band += 1) {
    sums[band] = sums[band].map((value, at) =>
      value == null || sums[band - 1][at] == null ? null : value + sums[band - 1][at],
    );
  }
  return sums.reverse();
}

function dataOf(chart) {
  const { times, values } = columns(chart);
  return [times, ...(chart.stacked ? stacked(values) : values)];
}

function axis(extra) {
  return {
    stroke: paint("--text-3"),
    grid: { stroke: paint("--line"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
    ...extra,
  };
}

function draw(chart) {
  const place = document.getElementById(chart.id);
  place.replaceChildren();
  const series = chart.stacked ? chart.series.slice().reverse() : chart.series;
  const tip = document.createElement("div");
  tip.className = "chart-tip";
  tip.hidden = true;
  const plot = new uPlot(
    {
      width: place.clientWidth || 300,
      height: chart.height,
      legend: { show: false },
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
      scales: { y: { range: (_, __, top) => [0, chart.top ?? Math.max(top * 1.1, chart.least)] } },
      axes: [
        axis({ space: 80, size: 26, values: (_, splits) => splits.map(shortClock) }),
        axis({ size: 44, space: 32, values: (_, splits) => splits.map((value) => fine.format(value)) }),
      ],
      series: [
        {},
        ...series.map(([label, , token]) => ({
          label,
          stroke: paint(token),
          fill: chart.fill ? faded(paint(token), 0.1) : chart.stacked ? faded(paint(token), 0.8) : undefined,
          width: chart.stacked ? 0 : 1.5,
          spanGaps: false,
          points: { show: false },
        })),
      ],
      hooks: { setCursor: [(self) => showTip(self, chart, tip)] },
    },
    dataOf(chart),
    place,
  );
  place.append(tip);
  if (!points.length) {
    const empty = document.createElement("p");
    empty.className = "chart-empty";
    empty.textContent = translated("No numbers yet");
    place.append(empty);
  }
  return { chart, plot, place };
}

function showTip(plot, chart, tip) {
  const at = plot.cursor.idx;
  tip.hidden = at == null || plot.cursor.left < 0;
  if (tip.hidden) return;
  const { values } = columns(chart);
  const lines = [
    clock(plot.data[0][at]),
    ...chart.series.map(([label], series) => {
      const value = values[series][at];
      return `${label}: ${value == null ? translated("no data") : `${chart.format.format(value)} ${chart.unit}`}`;
    }),
  ];
  tip.replaceChildren(...lines.map((text) => Object.assign(document.createElement("span"), { textContent: text })));
  const left = plot.cursor.left + plot.bbox.left / devicePixelRatio;
  const room = plot.width - tip.offsetWidth - 8;
  tip.style.left = `${Math.max(0, Math.min(left + 12, room))}px`;
}

function drawAll() {
  charts = CHARTS.filter(({ id }) => document.getElementById(id)).map(draw);
}

function refresh() {
  const empty = charts.some(({ place }) => place.querySelector(".chart-empty"));
  if (empty && points.length) return drawAll();
  for (const { chart, plot } of charts) plot.setData(dataOf(chart));
}

let asking = false;
async function ask() {
  if (asking || document.hidden || document.querySelector("#sign-in-dialog[open]")) return;
  if (step && Date.now() - askedAt < STEP_MS) return;
  asking = true;
  const asked = step;
  askedAt = Date.now();
  try {
    const query = asked ? `step=${asked}` : `after=${points.at(-1)?.[0] ?? 0}`;
    const answer = await fetch(`${box.dataset.points}?${query}`, {
      headers: { Accept: "application/json" },
      signal: AbortSignal.timeout(5000),
    });
    document.dispatchEvent(new CustomEvent("panel:answered", { detail: true }));
    if (answer.status === 401) document.dispatchEvent(new CustomEvent("panel:sign-in"));
    if (!answer.ok) return;
    const { now, points: fresh } = await answer.json();
    if (asked !== step) return; // another button was pressed meanwhile
    points = asked ? fresh : points.concat(fresh).filter((point) => point[0] >= now - HOUR);
    if (fresh.length) refresh();
  } catch {
    document.dispatchEvent(new CustomEvent("panel:answered", { detail: false }));
  } finally {
    asking = false;
  }
}

box.addEventListener("click", (event) => {
  const button = event.target.closest("[data-seconds]");
  if (!button) return;
  shownSeconds = Number(button.dataset.seconds);
  if (step !== (button.dataset.step ?? "")) {
    step = button.dataset.step ?? "";
    points = [];
    askedAt = 0;
  }
  for (const other of box.querySelectorAll("[data-seconds]"))
    other.setAttribute("aria-pressed", String(other === button));
  drawAll();
  ask();
});
new ResizeObserver(() =>
  charts.forEach(({ chart, plot, place }) => plot.setSize({ width: place.clientWidth, height: chart.height })),
).observe(box);
document.addEventListener("panel:theme", drawAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
document.addEventListener("visibilitychange", ask);
drawAll();
ask();
setInterval(ask, 1000);
