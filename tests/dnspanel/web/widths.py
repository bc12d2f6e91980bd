"""A search for text that breaks and controls that are cut, at the present width of a page in Chromium."""

from playwright.sync_api import Page

# As long as a full IPv6 address. Longer tokens may break anywhere.
LONGEST_TOKEN = 40

_FIND = """(longest) => {
  const faults = [];
  const add = (kind, element, text) => faults.push(`${kind}: ${text.trim().replace(/\\s+/g, " ").slice(0, 60)} in ${
    (element.closest("td, th, dd, li, p") ?? element).cloneNode().outerHTML.slice(0, 120)}`);
  const screen = document.documentElement;
  const style = new Map([...document.querySelectorAll("body, body *")].map(each => [each, getComputedStyle(each)]));
  const readAloud = [...style.keys()].filter(each => style.get(each).clipPath !== "none");
  const isSeen = each => each.checkVisibility({visibilityProperty: true, opacityProperty: true})
    && !each.closest(".skip") && !readAloud.some(hidden => hidden.contains(each));
  const isFull = each => each.scrollWidth > each.clientWidth + 1;
  const clips = each => each !== document.body && style.get(each).overflowX !== "visible";

  if (screen.scrollWidth > screen.clientWidth) {
    const isWide = each => each.getBoundingClientRect().right > screen.clientWidth + 1 && isSeen(each);
    const widest = [...style.keys()].findLast(isWide) ?? document.body;
    add(`page of ${screen.scrollWidth} px`, widest, widest.textContent);
  }

  const range = document.createRange();
  const isBroken = (node, start, end) => {
    range.setStart(node, start);
    range.setEnd(node, end);
    const boxes = [...range.getClientRects()].filter(box => box.width);
    return boxes.some(box => Math.abs(box.top - boxes[0].top) > box.height / 2);
  };
  const findBroken = (node, token, start) => {
    // Between other words, a token may break behind a hyphen or a slash, as in any text.
    const isAll = node.data.replace(/^\\s+|[,.:]?\\s+$/g, "") === token.replace(/[,.:]$/, "");
    const isCell = node.parentElement.closest("td, th, dd, .long, .mono") && (isAll || /[\\d.]/.test(token));
    let at = start;
    for (const part of isCell ? [token] : token.split(/(?<=[-/?&])|(?=[{?])/))
      if (isBroken(node, at, at += part.length)) add("broken", node.parentElement, token);
  };
  const isOther = each => each.closest("script, style, template, textarea, option, .col-comment");
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!/\\S/.test(node.data) || isOther(node.parentElement) || !isSeen(node.parentElement)) continue;
    if (!isBroken(node, 0, node.data.length)) continue;
    for (const found of node.data.matchAll(/[^\\s"'()<>,;=\\u0080-\\uffff]+/g))
      if (found[0].length <= longest) findBroken(node, found[0], found.index);
  }

  for (const each of document.querySelectorAll("button, .btn, .tabs a, .nav-list a, summary, .tool, .badge, .pill")) {
    const box = each.getBoundingClientRect();
    if (!box.width || !isSeen(each)) continue;
    let isCut = box.left < -1 || box.right > screen.clientWidth + 1 || clips(each) && isFull(each);
    for (let parent = each.parentElement; parent !== screen; parent = parent.parentElement) {
      const around = parent.getBoundingClientRect();
      isCut ||= clips(parent) && (box.left < around.left - 1 || box.right > around.right + 1);
    }
    if (isCut) add("cut", each, each.textContent || each.title);
  }
  for (const each of document.querySelectorAll("main *, .top *, .nav *")) {
    const isKept = each.matches("input.input") ? each.value.length <= 7 : /hidden|clip/.test(style.get(each).overflowX);
    if (!isKept || each.closest(".truncate, select, textarea, svg") || !isSeen(each)) continue;
    if (isFull(each)) add("cut content", each, each.value ?? each.textContent);
  }
  return faults;
}"""


def faults_of_width(page: Page) -> list[str]:
    """Return a description of each fault.

    Faults are a token of up to LONGEST_TOKEN characters on two lines, a page that scrolls sideways, and a button, tab,
    badge or short value of a field that is cut.
    """
    found: list[str] = page.evaluate(_FIND, LONGEST_TOKEN)
    return found
