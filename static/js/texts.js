// What scripts say, in the language of the page: `translated("{count} files", { count })`. The page brings the texts
// that its language has; `dnspanel/web/script_texts.py` lists them all.
const texts = JSON.parse(document.getElementById("script-texts")?.textContent ?? "{}");

export const translated = (text, values = {}) =>
  (texts[text] ?? text).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
