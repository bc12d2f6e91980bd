// The time zone of the browser, offered beside the list of all.
const hint = document.querySelector("[data-own-time-zone]");
const choice = document.getElementById(hint?.dataset.ownTimeZone);
const here = Intl.DateTimeFormat().resolvedOptions().timeZone;

if (choice && [...choice.options].some((option) => option.value === here)) {
  const button = hint.querySelector("button");
  button.textContent = here.replaceAll("_", " ");
  button.addEventListener("click", () => {
    choice.value = here;
    choice.focus();
  });
  hint.hidden = false;
}
