// SHA-256 of a text in UTF-8, as hex. WebCrypto where there is one; pages that are served without TLS have none.

const ENCODER = new TextEncoder();

export async function sha256Hex(text, crypto = globalThis.crypto) {
  const bytes = ENCODER.encode(text);
  if (typeof crypto?.subtle?.digest === 'function') {
    return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
  }
  return hex(digest(bytes));
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

// The constants of FIPS 180-4: the first 32 bits of the fractions of the roots of the first primes.
const PRIMES = [];
for (let n = 2; PRIMES.length < 64; n += 1) if (PRIMES.every((prime) => n % prime !== 0)) PRIMES.push(n);
const fraction = (root) => Math.floor((root - Math.floor(root)) * 2 ** 32) | 0;
const START = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const ROUND = PRIMES.map((prime) => fraction(Math.cbrt(prime)));
const rotate = (word, by) => (word >>> by) | (word << (32 - by));

export function digest(bytes) {
  const length = (bytes.length + 9 + 63) & ~63;
  const padded = new Uint8Array(length);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(length - 4, (bytes.length << 3) >>> 0);
  const state = Int32Array.from(START);
  const words = new Int32Array(64);
  for (let at = 0; at < length; at += 64) {
    for (let i = 0; i < 16; i += 1) words[i] = view.getInt32(at + i * 4);
    for (let i = 16; i < 64; i += 1) {
      const [a, b] = [words[i - 15], words[i - 2]];
      const s0 = rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3);
      const s1 = rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10);
      words[i] = (words[i - 16] + s0 + words[i - 7] + s1) | 0;
    }
    compress(state, words);
  }
  const out = new DataView(new ArrayBuffer(32));
  state.forEach((word, index) => out.setInt32(index * 4, word));
  return new Uint8Array(out.buffer);
}

function compress(state, words) {
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i += 1) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + ROUND[i] + words[i]) | 0;
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, index) => {
    state[index] = (state[index] + word) | 0;
  });
}
