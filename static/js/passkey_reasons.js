// Why a passkey was not used, or not added: the browser's error in a sentence.
import { translated } from "./texts.js";

const REASONS = {
  NotAllowedError: translated("No passkey was used, or it took too long. Try again."),
  InvalidStateError: translated("This passkey is added already."),
  SecurityError: translated("Passkeys work at the panel’s own address alone."),
};

export const reasonOf = (error) => REASONS[error.name] ?? translated("The browser could not use a passkey.");
