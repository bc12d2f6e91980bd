// Passkeys: allauth's scripts speak with the browser; this ties them to our forms, and says what went wrong.
import { reasonOf } from "./passkey_reasons.js";

const { addForm, authenticateForm, loginForm } = window.allauth.webauthn.forms;
const form = document.querySelector("form[data-passkey]");
const error = form.querySelector("[data-passkey-error]");
const ids = { credential: "id_credential", passwordless: "id_alone" };
const data = form.dataset.options ? JSON.parse(form.dataset.options) : null;

document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  error.textContent = reasonOf(event.detail.exception);
  error.hidden = false;
});

const { passkey } = form.dataset;
if (passkey === "add") addForm({ ids: { ...ids, add: "passkey-button" }, data: { creation_options: data } });
if (passkey === "second") {
  authenticateForm({ ids: { ...ids, authenticate: "passkey-button" }, data: { request_options: data } });
}
if (passkey === "alone") loginForm({ ids: { ...ids, login: "passkey-button" } });
// Before this line nobody would hear a click.
document.getElementById("passkey-button").disabled = false;
if (!window.PublicKeyCredential) form.hidden = true;
