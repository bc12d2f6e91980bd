// Files on their way to an import, in chunks: taken up again after a lost connection or a reload, from where the
// server says it is. The form works without this, in one piece.
import { csrfToken } from "./csrf.js";
import { dropped, tarOf } from "./tar.js";
import { translated } from "./texts.js";

const AS_TAR_FROM = 20; // so many files are sent as one
const LONGEST_WAIT = 15000;
const form = document.querySelector("form[data-upload]");
const part = (name) => form.querySelector(`[data-${name}]`);
const drop = part("drop");
const button = form.querySelector('[type="submit"]');
let chosen = []; // {name, blob}
let total = 0;
let stop = null; // an AbortController while files are being sent

function show(files) {
  files.sort((a, b) => (a.name < b.name ? -1 : 1));
  const packed = files.length >= AS_TAR_FROM;
  chosen = packed
    ? [
        {
          name: "upload.tar",
          title: translated("{count} files", { count: files.length.toLocaleString("en") }),
          blob: tarOf(files),
        },
      ]
    : files;
  total = chosen.reduce((sum, { blob }) => sum + blob.size, 0);
  part("upload-list").replaceChildren(
    ...chosen.map(({ name, title, blob }) => {
      const row = document.createElement("li");
      row.append(...[title ?? name, size(blob.size), ""].map((text) => span(text)));
      return row;
    }),
  );
  part("uploads").hidden = !chosen.length;
  part("upload-bar").value = 0;
  say(translated("{size} to upload", { size: size(total) }));
  complain("");
}

form.addEventListener("change", (event) => {
  if (!event.target.matches("[type=file]") || stop) return;
  show([...event.target.files].map((file) => ({ name: file.webkitRelativePath || file.name, blob: file })));
});
for (const kind of ["dragover", "dragleave", "drop"]) {
  drop.addEventListener(kind, (event) => {
    event.preventDefault();
    drop.classList.toggle("is-over", kind === "dragover");
    if (kind === "drop" && !stop) dropped(event.dataTransfer).then(show);
  });
}

const span = (textContent) => Object.assign(document.createElement("span"), { textContent });

function size(bytes) {
  let unit = 0;
  for (; bytes >= 1024 && unit < 3; unit += 1) bytes /= 1024;
  return `${unit ? bytes.toFixed(1) : Math.round(bytes)} ${["bytes", "KiB", "MiB", "GiB"][unit]}`;
}

const say = (words) => {
  part("upload-words").textContent = words;
};

const complain = (words) => Object.assign(part("upload-error"), { textContent: words, hidden: !words });

// The server's answer, however long the way there is broken. A chunk is asked for once: null says that nobody knows.
async function ask(address, options = {}) {
  for (let wait = 500; ; wait = Math.min(wait * 2, LONGEST_WAIT)) {
    const answer = await fetch(address, {
      ...options,
      signal: stop.signal,
      headers: { "X-CSRFToken": csrfToken(), Accept: "application/json" },
    }).catch((error) => {
      if (stop.signal.aborted) throw error;
    });
    const isUseful = Boolean(answer) && (answer.status < 500 || answer.status === 507); // 507: the disk is full
    document.dispatchEvent(new CustomEvent("panel:answered", { detail: isUseful }));
    if (isUseful) {
      const said = await answer.json().catch(() => ({}));
      if (answer.ok || answer.status === 409) return said;
      throw new Error(
        answer.status === 401
          ? translated("Your session has expired. Use another tab to sign in, then continue here.")
          : (said.errors?.join(" ") ?? translated("Request failed (HTTP {status}).", { status: answer.status })),
      );
    }
    say(translated("Connection lost. Retrying."));
    await new Promise((done) => {
      setTimeout(done, wait);
    });
    if (options.once) return null;
  }
}

async function send({ upload, finish }) {
  const began = performance.now();
  let before = 0;
  let sent = 0;
  for (const [number, { name, blob }] of chosen.entries()) {
    const row = part("upload-list").children[number];
    const address = `${upload}?${new URLSearchParams({ name })}`;
    let { offset } = await ask(address);
    if (offset > blob.size) throw new Error(
        translated("{name} is smaller than the file uploaded earlier. Choose the original file.", { name }),
      );
    while (offset < blob.size || !row.matches(".is-done")) {
      const body = blob.slice(offset, offset + Number(form.dataset.chunk));
      const { offset: at } =
        (await ask(`${address}&offset=${offset}`, { method: "POST", body, once: true })) ?? (await ask(address));
      sent += Math.max(0, at - offset);
      offset = at;
      row.classList.toggle("is-done", offset >= blob.size);
      row.lastChild.textContent = `${Math.floor(100 * (blob.size ? offset / blob.size : 1))} %`;
      progress(before + offset, sent / (performance.now() - began));
    }
    before += blob.size;
  }
  return (await ask(finish, { method: "POST" })).next;
}

function progress(done, perMillisecond) {
  part("upload-bar").value = total ? done / total : 1;
  const left = Math.ceil((total - done) / perMillisecond / 1000);
  const sent = { done: size(done), total: size(total), speed: size(perMillisecond * 1000), left };
  const text = left > 0 ? "{done} of {total}, {speed}/s, {left} s left" : "{done} of {total}, {speed}/s";
  say(translated(text, sent));
}

// Makes the job first; its address replaces this one, so that a reload finds it.
async function addresses() {
  if (!form.dataset.uploadTo) {
    const fields = new FormData(form);
    fields.delete("files");
    fields.set("by", "script");
    if (!fields.get("title")) fields.set("title", chosen[0].title ?? chosen[0].name.slice(-200));
    const made = await ask(form.action, { method: "POST", body: fields });
    history.replaceState(null, "", made.page);
    Object.assign(form.dataset, { uploadTo: made.upload, finish: made.finish });
  }
  return { upload: form.dataset.uploadTo, finish: form.dataset.finish };
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (stop) return;
  if (!chosen.length) return complain(translated("Choose at least one file."));
  stop = new AbortController();
  button.disabled = true;
  part("upload-stop").hidden = false;
  complain("");
  let next = "";
  try {
    next = await send(await addresses());
  } catch (error) {
    const stopped = translated("Upload paused. You can resume it at any time.");
    complain(stop.signal.aborted ? stopped : error.message);
  }
  part("upload-stop").hidden = true;
  button.disabled = Boolean(next);
  stop = null;
  if (next) location.assign(next);
});

part("upload-stop").addEventListener("click", () => stop?.abort());
addEventListener("beforeunload", (event) => {
  if (stop) event.preventDefault();
});
