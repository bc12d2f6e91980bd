// The squares of a large fleet: one tab stop for each group, which the arrow keys move. Without this script, and for
// screen readers, each square is an ordinary link.
let focused = ""; // the address of the square that had the focus before the picture was replaced

const groupsIn = (root) => [...root.querySelectorAll(".squares")];
const linksIn = (group) => [...group.querySelectorAll("a")];

function stopAt(group, link) {
  for (const each of linksIn(group)) each.tabIndex = each === link ? 0 : -1;
}

function start(root) {
  for (const group of groupsIn(root)) {
    const links = linksIn(group);
    const same = links.find((link) => link.getAttribute("href") === focused);
    stopAt(group, same ?? links[0]);
    same?.focus({ preventScroll: true });
  }
}

document.addEventListener("htmx:beforeSwap", () => {
  focused = document.activeElement?.closest(".squares a")?.getAttribute("href") ?? "";
});
document.addEventListener("htmx:load", (event) => start(event.detail.elt));
document.addEventListener("focusin", (event) => {
  const link = event.target.closest?.(".squares a");
  if (link) stopAt(link.closest(".squares"), link);
});

document.addEventListener("keydown", (event) => {
  const link = event.target.closest?.(".squares a");
  if (!link || event.ctrlKey || event.metaKey || event.altKey) return;
  const links = linksIn(link.closest(".squares"));
  const inRow = links.filter((each) => each.offsetTop === links[0].offsetTop).length;
  const at = links.indexOf(link);
  const places = {
    ArrowLeft: at - 1,
    ArrowRight: at + 1,
    ArrowUp: at - inRow,
    ArrowDown: at + inRow,
    Home: 0,
    End: links.length - 1,
  };
  if (!(event.key in places)) return;
  event.preventDefault();
  links[places[event.key]]?.focus();
});

start(document);
