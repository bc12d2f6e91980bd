// Many files as one: what was dropped, read with its directories, and a tar of it that is made while it is sent.
const encoder = new TextEncoder();
const pad = (length) => (512 - (length % 512)) % 512;

function head(name, length, kind) {
  const bytes = new Uint8Array(512);
  const write = (at, text) => bytes.set(encoder.encode(text), at);
  const octal = (number, digits) => number.toString(8).padStart(digits, "0");
  write(0, name);
  write(100, `0000644\0${"0000000\0".repeat(2)}${octal(length, 11)} ${octal(0, 11)} ${" ".repeat(8)}${kind}`);
  write(257, "ustar  \0");
  write(
    148,
    `${octal(
      bytes.reduce((sum, byte) => sum + byte, 0),
      6,
    )}\0 `,
  );
  return bytes;
}

// A Blob that only refers to the files: the browser reads each when its turn comes. The same files, the same bytes.
export function tarOf(files) {
  const parts = [];
  for (const { name, blob } of files) {
    const path = encoder.encode(name);
    const isLong = path.length > 99;
    if (isLong) parts.push(head("././@LongLink", path.length + 1, "L"), path, new Uint8Array(1 + pad(path.length + 1)));
    parts.push(head(isLong ? "long" : name, blob.size, "0"), blob, new Uint8Array(pad(blob.size)));
  }
  parts.push(new Uint8Array(1024));
  return new Blob(parts);
}

export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
  return (await Promise.all(entries.map((entry) => inside(entry, "")))).flat();
}

async function inside(entry, path) {
  if (entry.isFile) return [{ name: path + entry.name, blob: await new Promise((done, no) => entry.file(done, no)) }];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((done, no) => reader.readEntries(done, no)); // a hundred at a time
    if (!some.length) return found;
    for (const each of some) found.push(...(await inside(each, `${path}${entry.name}/`)));
  }
}
