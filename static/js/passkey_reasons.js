// Why a passkey was not used, or not added: the browser's error in a sentence.
import { translated } from "./texts.js";

const REASONS = {
  NotAllowedError: translated("No passkey was used in time. Try again."),
  InvalidStateError: translated("This passkey is already registered."),
  SecurityError: translated("Passkeys work only at the panel’s own address."),
};

export const reasonOf = (error) => REASONS[error.name] ?? translated("This browser doesn’t support passkeys.");
