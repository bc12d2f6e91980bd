// A session that ended: sign in again on top of the page, by password, code or passkey, or in another tab; then what
// was refused is sent again. Nothing that was typed is lost.
import { csrfToken } from "./csrf.js";
import { reasonOf } from "./passkey_reasons.js";
import { translated } from "./texts.js";

const dialog = document.getElementById("sign-in-dialog");
const form = dialog?.querySelector("form");
const { user } = document.body.dataset;
const password = form?.querySelector("#again-password");
const passkeyButton = form?.querySelector("[data-passkey-again]");
const said = form?.querySelector("[data-sign-in-error]");
const JSON_ANSWER = { "X-Requested-With": "XMLHttpRequest", Accept: "application/json" };
let refused = [];
let wantsCode = false; // the password was right, and the second factor is missing

document.addEventListener("panel:sign-in", ({ detail: request }) => {
  if (!dialog) return location.reload();
  if (request && !refused.some((other) => other.elt === request.elt && other.path === request.path))
    refused.push(request);
  if (!dialog.open) dialog.showModal();
});

function show(error) {
  said.textContent = error ?? "";
  said.hidden = !error;
}

// What the panel answers: where it leads next, what to ask a passkey, or an error to show.
async function told(path, fields) {
  const body = fields && new FormData();
  for (const [name, value] of Object.entries({ csrfmiddlewaretoken: csrfToken(), ...fields })) body?.set(name, value);
  const answer = await fetch(path, { method: fields ? "POST" : "GET", body, headers: JSON_ANSWER });
  const content = await answer.json().catch(() => null);
  if (answer.ok) return content ?? {};
  const { errors = [], fields: ofFields = {} } = content?.form ?? {};
  const all = [...errors, ...Object.values(ofFields).flatMap((field) => field.errors)];
  return { error: all[0] ?? translated("Request failed (HTTP {status}). Try again.", { status: answer.status }) };
}

// The dialog asks for the password, or for the code of a second factor, in the same field.
function askForCode(isWanted, hasPasskey) {
  wantsCode = isWanted;
  if (passkeyButton) passkeyButton.hidden = isWanted && !hasPasskey;
  if (!password) return;
  password.labels[0].textContent = isWanted ? translated("Two-factor code") : translated("Password");
  password.name = isWanted ? "code" : "password";
  password.type = isWanted ? "text" : "password";
  password.autocomplete = isWanted ? "one-time-code" : "current-password";
  password.value = "";
  password.focus();
}

async function goOn(next) {
  const { login, second } = form.dataset;
  if (next.error) {
    show(next.error);
    return wantsCode && password?.select();
  }
  if (next.location === second) {
    const { request_options: options } = await told(second);
    show("");
    return askForCode(true, Boolean(options));
  }
  if (wantsCode && next.location === login) {
    askForCode(false, true);
    return show(translated("The sign-in took too long. Enter your password again."));
  }
  askForCode(false, true);
  done();
}

function done() {
  show("");
  for (const field of document.querySelectorAll('input[name="csrfmiddlewaretoken"]')) field.value = csrfToken();
  dialog.close();
  const again = refused;
  refused = [];
  for (const request of again) {
    if (document.contains(request.elt))
      htmx.ajax(request.verb, request.path, { source: request.elt, values: request.parameters });
  }
}

const notConnected = () => ({ error: translated("Connection failed. Try again.") });

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (!password) return;
  const { login, second } = form.dataset;
  const fields = wantsCode ? { code: password.value } : { login: user, password: password.value };
  const next = await told(wantsCode ? second : login, fields).catch(notConnected);
  await goOn(next).catch(() => show(notConnected().error));
});

// The script that speaks with passkeys, once somebody needs it.
function webauthn() {
  if (window.webauthnJSON) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = form.dataset.webauthn;
    script.addEventListener("load", resolve);
    script.addEventListener("error", reject);
    document.head.append(script);
  });
}

passkeyButton?.addEventListener("click", async () => {
  const path = wantsCode ? form.dataset.second : form.dataset.passkey;
  try {
    await webauthn();
    const { request_options: options, location: elsewhere, error } = await told(path);
    if (error) return show(error);
    if (!options) return wantsCode ? await goOn({ location: elsewhere }) : await lookWhoIsHere();
    const credential = JSON.stringify(await window.webauthnJSON.get(options));
    await goOn(await told(path, { credential, login: user }));
  } catch (error) {
    show(reasonOf(error));
  }
});

// Somebody signed in in another tab: the page goes on if it was the same person.
async function lookWhoIsHere() {
  if (!dialog?.open) return;
  const { user: now } = await told(form.dataset.here).catch(() => ({}));
  if (!now || !dialog.open) return;
  if (now === user) done();
  else {
    const text = "{now} signed in using another tab. Sign in as {user}, or reload the page.";
    show(translated(text, { now, user }));
  }
}

const tabs = new BroadcastChannel("panel-signed-in");
tabs.addEventListener("message", lookWhoIsHere);
window.addEventListener("focus", lookWhoIsHere);
if (user) tabs.postMessage(user);

if (passkeyButton && !window.PublicKeyCredential) passkeyButton.remove();
dialog?.addEventListener("cancel", (event) => event.preventDefault());
