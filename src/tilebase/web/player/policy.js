// Packed values: of each slide a cell of a scale, read from a file by ranges.  docs/format.md describes it.

import { Boards, HALVINGS } from "./coder.js";

/** A sentence for the player: a file that cannot be read, or is not what it should be. */
export class PolicyError extends Error {}

const ENTRY = 16; // bytes of the index for each block
const KEPT = 64; // blocks that are kept in memory
const CERTAIN = 255; // the cell of a probability of 1

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let found = byte;
  for (let bit = 0; bit < 8; bit++) found = found & 1 ? (found >>> 1) ^ 0xedb88320 : found >>> 1;
  return found;
});

/** The CRC-32 of bytes, as zlib computes it. */
export function crc32(bytes) {
  let found = 0xffffffff;
  for (const byte of bytes) found = CRC[(found ^ byte) & 255] ^ (found >>> 8);
  return (found ^ 0xffffffff) >>> 0;
}

const CACHE = "tilebase"; // what is kept on this device, so that the page works without a connection

/** Part of a file, or all of it: from the host, from what is kept on this device, or from a file that was chosen. */
class RangedFile {
  #first = null; // the first request: it shows whether the host knows ranges
  #whole = null; // a `Blob` of the file, if there is one

  constructor({ name, bytes }) {
    this.name = name;
    this.size = bytes;
    this.tell = () => {}; // called with the share of the whole file that is here, and with null at the end
  }

  /** The bytes from `begin` up to `end`. */
  async read(begin, end) {
    if (this.#first) await this.#first.catch(() => {});
    if (!this.#whole && !this.#first) await this.#kept();
    if (this.#whole) return this.#part(begin, end);
    const request = this.#ask(begin, end);
    this.#first ??= request;
    return request;
  }

  /** Read from a file that the player chose. */
  choose(file) {
    if (file.name !== this.name || file.size !== this.size) throw new PolicyError(`This page needs the file ${this.name}, which lies beside it.`);
    this.#whole = file;
  }

  /** Read everything again. */
  async forget() {
    this.#first = null;
    this.#whole = null;
    this.again = "reload"; // not from the browser's cache
    await globalThis.caches?.delete(CACHE);
  }

  /** Keep the page and the whole file on this device. */
  async keep() {
    const kept = await caches.open(CACHE);
    for (const one of await kept.keys()) await kept.delete(one);
    await kept.add("./");
    await kept.put(this.name, new Response(this.#whole || (await this.#all(await this.#get()))));
    await navigator.serviceWorker.register("worker.js");
    await navigator.serviceWorker.ready;
  }

  /** Whether the whole file is on this device. */
  async isKept() {
    return Boolean(await globalThis.caches?.match(this.name).catch(() => null));
  }

  async #kept() {
    const found = await globalThis.caches?.match(this.name).catch(() => null);
    this.#whole ??= found ? await found.blob() : null;
  }

  async #part(begin, end) {
    return new Uint8Array(await this.#whole.slice(begin, end).arrayBuffer());
  }

  async #get(headers = {}) {
    const response = await fetch(this.name, { headers, cache: this.again || "default" }).catch(() => this.#broken());
    if (response.ok) return response;
    if ([404, 410].includes(response.status)) throw new PolicyError(`${this.name} is not on this host: copy the whole folder there.`);
    throw new PolicyError(`${this.name} cannot be read: the host answers with the status ${response.status}.`);
  }

  async #ask(begin, end) {
    const response = await this.#get({ Range: `bytes=${begin}-${end - 1}` });
    if (response.status === 206) return new Uint8Array(await response.arrayBuffer().catch(() => this.#broken()));
    this.#whole = await this.#all(response).finally(() => this.tell(null));
    return this.#part(begin, end);
  }

  /** The whole file, piece by piece. */
  async #all(response) {
    const pieces = response.body.getReader();
    const parts = [];
    let at = 0;
    for (;;) {
      const { done, value } = await pieces.read().catch(() => this.#broken());
      if (done) break;
      parts.push(value);
      at += value.length;
      this.tell(at / this.size);
    }
    if (at !== this.size) throw this.damaged();
    return new Blob(parts);
  }

  #broken() {
    throw new PolicyError(`${this.name} cannot be read: the connection to the host failed.`);
  }

  damaged() {
    return new PolicyError(`${this.name} is damaged, or of another version of this page: load the page again, or copy the whole folder to the host again.`);
  }
}

/** Ranks of boards: how many boards of the same sum come before, as src/tilebase/files/policy.py defines them. */
export class Ranks {
  constructor(codes, x, largest) {
    this.codes = codes;
    this.half = (code) => (code === x || code === 0 ? 0 : 2 ** (code - 1));
    // ways[i][s]: fillings of the cells from i on, of the sum 2 s
    this.ways = [Float64Array.of(1, ...new Array(largest / 2).fill(0))];
    for (const held of codes.slice().reverse()) {
      const next = this.ways[0];
      const found = new Float64Array(next.length);
      for (const code of held) {
        const half = this.half(code);
        for (let sum = half; sum < found.length; sum++) found[sum] += next[sum - half];
      }
      this.ways.unshift(found);
    }
  }

  /** The rank of a board, or -1 if a cell holds what it never does. */
  of(board) {
    let left = board.reduce((sum, code) => sum + this.half(code), 0);
    let rank = 0;
    for (const [cell, held] of this.codes.entries()) {
      if (!held.includes(board[cell])) return -1;
      for (const code of held) {
        if (code === board[cell]) break;
        rank += this.ways[cell + 1][left - this.half(code)] || 0;
      }
      left -= this.half(board[cell]);
    }
    return rank;
  }
}

/** The least image of a board, and for each direction on it the direction on the board. */
export function canonical(board, symmetries) {
  let least = null;
  for (const [cells, directions] of symmetries) {
    const image = cells.map((cell) => board[cell]);
    const at = least ? image.findIndex((code, cell) => code !== least.image[cell]) : 0;
    if (!least || (at >= 0 && image[at] < least.image[at])) least = { image, directions };
  }
  return least;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** `count` ascending numbers in LEB128 from data[at] on: the first is `first`, the others are differences. */
function ascending(data, at, first, count) {
  const found = new Float64Array(count);
  found[0] = first;
  for (let index = 1; index < count; index++) {
    let unit = 1;
    let byte;
    found[index] = found[index - 1];
    do {
      byte = data[at++];
      found[index] += (byte & 127) * unit;
      unit *= 128;
    } while (byte & 128);
  }
  return { found, at };
}

/** The position of the last number that is at most `wanted`, or -1. */
function lastAtMost(numbers, wanted, begin = 0, end = numbers.length) {
  let [low, high] = [begin, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= wanted) low = middle + 1;
    else high = middle;
  }
  return low === begin ? -1 : low - 1;
}

export class Policy {
  #blocks = new Map(); // promises of the blocks that were used last
  #tail = null;

  constructor(header) {
    const { rules, codes, layers, policy } = header;
    this.header = header;
    this.ranks = new Ranks(codes, rules.x, Math.max(0, ...layers.map(([sum]) => sum)));
    this.file = new RangedFile(policy);
    let at = 0;
    this.boards = new Boards(this.ranks, header);
    // layers: the sum; where its blocks begin and end in the index; the scale; whether boards are in it that no slide leaves
    this.layers = new Map(layers.map(([sum, count, low, step, loose]) => {
      const begin = at;
      at += count;
      return [sum, { sum, begin, end: at, low, step, loose }];
    }));
    this.blocks = at;
  }

  /** The index, and what is corrected: by the sum and rank of a state, its best slides as bits. */
  async #readTail() {
    const { bytes: size, tail, check } = this.header.policy;
    const bytes = await this.file.read(size - tail, size);
    if (bytes.length !== tail || crc32(bytes) !== parseInt(check, 16)) await this.#refuse();
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const [firsts, checks, offsets] = [new Float64Array(this.blocks), new Uint32Array(this.blocks), new Float64Array(this.blocks + 1)];
    for (let block = 0; block < this.blocks; block++) {
      firsts[block] = Number(view.getBigUint64(ENTRY * block, true));
      offsets[block + 1] = offsets[block] + view.getUint32(ENTRY * block + 8, true);
      checks[block] = view.getUint32(ENTRY * block + 12, true);
    }
    return { firsts, checks, offsets, corrected: await this.#corrected(bytes.subarray(ENTRY * this.blocks)) };
  }

  async #corrected(bytes) {
    const data = await inflate(bytes);
    const found = new Map();
    let from = 0;
    for (const [sum, count] of this.header.corrections) {
      const { found: ranks, at } = ascending(data, from + count, 0, count + 1);
      for (let index = 0; index < count; index++) found.set(`${sum}:${ranks[index + 1]}`, data[from + index]);
      from = at;
    }
    return found;
  }

  async #refuse() {
    await this.file.forget();
    throw this.file.damaged();
  }

  /** The tail; after a failure it is read again. */
  #getTail() {
    this.#tail ??= this.#readTail().catch((error) => {
      this.#tail = null;
      throw error;
    });
    return this.#tail;
  }

  async #readBlock({ firsts, checks, offsets }, block, { sum, loose }) {
    const bytes = await this.file.read(offsets[block], offsets[block + 1]);
    if (crc32(bytes) !== checks[block]) await this.#refuse();
    try {
      return this.boards.read(bytes, firsts[block], sum, loose);
    } catch (error) {
      if (error instanceof RangeError) return this.#refuse();
      throw error;
    }
  }

  #getBlock(tail, block, layer) {
    const found = this.#blocks.get(block) ?? this.#readBlock(tail, block, layer);
    this.#blocks.delete(block); // the last used comes last
    this.#blocks.set(block, found);
    if (this.#blocks.size > KEPT) this.#blocks.delete(this.#blocks.keys().next().value);
    found.catch(() => this.#blocks.delete(block));
    return found;
  }

  /** [low, high] of a value on the scale of the layer, {low, high, never, certain}; null if an afterstate is not held. */
  async value(board, sum) {
    const layer = this.layers.get(sum);
    if (!layer) return null;
    const rank = this.ranks.of(canonical(board, this.header.rules.symmetries).image);
    const tail = await this.#getTail();
    const block = lastAtMost(tail.firsts, rank, layer.begin, layer.end);
    if (block < 0) return null;
    const { ranks, begins, sizes } = await this.#getBlock(tail, block, layer);
    const at = lastAtMost(ranks, rank);
    if (at < 0 || ranks[at] !== rank) return null;
    return this.#edges(layer, begins[at], sizes[at]);
  }

  #edges({ low, step }, begin, size) {
    return { low: low + (begin - 1) * step, high: low + (begin + size - 1) * step, never: begin === 0, open: begin === 1, certain: begin === CERTAIN && !this.header.objective.rounded };
  }

  /** The cell of a win, in the layer of a sum: as `Scale.of` in src/tilebase/files/policy.py places it. */
  won(sum) {
    const { objective, logits } = this.header;
    const layer = this.layers.get(sum) || { low: 0, step: 1 };
    if (logits) return { ...this.#edges(layer, CERTAIN, 1), certain: true };
    const place = Math.min(Math.max((objective.won - layer.low) / layer.step, 0), CERTAIN - 1 - 2 ** -HALVINGS) + 1;
    return this.#edges(layer, Math.floor(place), 1);
  }

  /** By direction, whether it is one of the best, of a state whose values do not tell; else undefined. */
  async corrected(board, sum) {
    const { corrections, info, rules } = this.header;
    if (!corrections.length) return undefined;
    const { image, directions } = canonical(board, rules.symmetries);
    const bits = (await this.#getTail()).corrected.get(`${sum}:${this.ranks.of(image)}`);
    return bits === undefined ? undefined : info.directions.map((_, direction) => Boolean((bits >> directions.indexOf(direction)) & 1));
  }
}
