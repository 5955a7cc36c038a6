// The packed policy: the best slides of a state, read from files by ranges.  docs/format.md describes them.

/** A sentence for the player: a file that cannot be read, or is not what it should be. */
export class PolicyError extends Error {}

const VERSION = 1;
const ENTRY = 16; // bytes of the index for each block
const KEPT = 64; // blocks that are kept in memory

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

const suspect = new Set(); // files that were damaged, so that a copy in the browser's cache is not used again

function damaged(name) {
  suspect.add(name);
  return new PolicyError(`${name} is damaged, or of another version of this page: load the page again, or copy the whole folder to the host again.`);
}

/** Ask the host for a file or a range of it. */
async function ask(name, options = {}) {
  let response;
  try {
    response = await fetch(name, suspect.has(name) ? { ...options, cache: "reload" } : options);
  } catch {
    throw new PolicyError(`${name} cannot be read: the connection to the host failed.`);
  }
  if (response.ok) return response;
  if ([404, 410].includes(response.status)) throw new PolicyError(`${name} is not on this host: copy the whole folder there.`);
  throw new PolicyError(`${name} cannot be read: the host answers with the status ${response.status}.`);
}

async function bytesOf(response, name) {
  try {
    return new Uint8Array(await response.arrayBuffer());
  } catch {
    throw new PolicyError(`${name} cannot be read: the connection to the host failed.`);
  }
}

/** A file of known size that is read by ranges.  A host that ignores ranges sends the whole file once. */
class RangedFile {
  #first = null; // the first request: it shows whether the host knows ranges
  #whole = null;

  constructor(name, size) {
    this.name = name;
    this.size = size;
    this.tell = () => {}; // called with the share of the whole file that is here, and with null at the end
  }

  /** The bytes from `begin` up to `end`. */
  async read(begin, end) {
    if (this.#first) await this.#first.catch(() => {});
    if (this.#whole) return this.#whole.subarray(begin, end);
    const request = this.#ask(begin, end);
    this.#first ??= request;
    return request;
  }

  /** Read everything again. */
  forget() {
    this.#first = null;
    this.#whole = null;
  }

  async #ask(begin, end) {
    const response = await ask(this.name, { headers: { Range: `bytes=${begin}-${end - 1}` } });
    if (response.status === 206) {
      const bytes = await bytesOf(response, this.name);
      if (bytes.length !== end - begin) throw damaged(this.name);
      return bytes;
    }
    this.#whole = await this.#all(response).finally(() => this.tell(null));
    return this.#whole.subarray(begin, end);
  }

  /** The whole file, piece by piece. */
  async #all(response) {
    const bytes = new Uint8Array(this.size);
    const pieces = response.body.getReader();
    let at = 0;
    for (;;) {
      const { done, value } = await pieces.read().catch(() => {
        throw new PolicyError(`${this.name} cannot be read: the connection to the host failed.`);
      });
      if (done) break;
      if (at + value.length > this.size) throw damaged(this.name);
      bytes.set(value, at);
      at += value.length;
      this.tell(at / this.size);
    }
    if (at !== this.size) throw damaged(this.name);
    return bytes;
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

/** What a block holds: ranks, the best slides of each as bits, and its coarse value if there are values. */
async function unpack(bytes, first, states, slideBits, values) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const data = new Uint8Array(await new Response(stream).arrayBuffer());
  const packed = Math.ceil((states * slideBits) / 8);
  const slides = Uint8Array.from({ length: states }, (_, at) => {
    const bit = at * slideBits;
    return (data[bit >> 3] >> (bit & 7)) & ((1 << slideBits) - 1);
  });
  let at = packed + (values ? states : 0);
  const ranks = new Float64Array(states);
  ranks[0] = first;
  for (let state = 1; state < states; state++) {
    let difference = 0;
    let unit = 1;
    for (;;) {
      const byte = data[at++];
      difference += (byte & 127) * unit;
      unit *= 128;
      if (!(byte & 128)) break;
    }
    ranks[state] = ranks[state - 1] + difference;
  }
  if (at !== data.length) throw new RangeError("a block has another length");
  return { ranks, slides, values: values ? data.subarray(packed, packed + states) : null };
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
  #index = null;

  constructor(header) {
    const { rules, codes, layers, policy } = header;
    this.header = header;
    this.ranks = new Ranks(codes, rules.x, Math.max(0, ...layers.map(([sum]) => sum)));
    this.file = new RangedFile(policy.name, policy.bytes);
    let at = 0;
    // layers: the sum; where its blocks begin and end in the index; how many states it has
    this.layers = new Map(layers.map(([sum, states]) => {
      const begin = at;
      at += Math.ceil(states / header.block);
      return [sum, { begin, end: at, states }];
    }));
  }

  /** The policy of this folder, whose header has this checksum. */
  static async load(check) {
    if (typeof DecompressionStream === "undefined") throw new PolicyError("This browser is too old for this page: it needs one of 2024 or later.");
    const bytes = await bytesOf(await ask("policy.json", { cache: "no-cache" }), "policy.json");
    let header = null;
    try {
      header = JSON.parse(new TextDecoder().decode(bytes));
    } catch {
      throw damaged("policy.json");
    }
    if (header?.format !== "tilebase policy") throw damaged("policy.json");
    if (header.version !== VERSION) throw new PolicyError(`policy.json has the version ${header.version}, and this page reads ${VERSION}: copy the whole folder to the host again.`);
    if (crc32(bytes) !== parseInt(check, 16)) throw damaged("policy.json");
    return new Policy(header);
  }

  async #entries() {
    const { name, bytes: size, check } = this.header.index;
    const bytes = await bytesOf(await ask(name), name);
    if (bytes.length !== size || crc32(bytes) !== parseInt(check, 16)) throw damaged(name);
    const view = new DataView(bytes.buffer);
    const blocks = size / ENTRY;
    const [firsts, checks, offsets] = [new Float64Array(blocks), new Uint32Array(blocks), new Float64Array(blocks + 1)];
    for (let block = 0; block < blocks; block++) {
      firsts[block] = Number(view.getBigUint64(ENTRY * block, true));
      offsets[block + 1] = offsets[block] + view.getUint32(ENTRY * block + 8, true);
      checks[block] = view.getUint32(ENTRY * block + 12, true);
    }
    return { firsts, checks, offsets };
  }

  /** The index; after a failure it is read again. */
  #getIndex() {
    this.#index ??= this.#entries().catch((error) => {
      this.#index = null;
      throw error;
    });
    return this.#index;
  }

  async #readBlock(index, block, states) {
    const { slideBits, valueStep } = this.header;
    const bytes = await this.file.read(index.offsets[block], index.offsets[block + 1]);
    if (crc32(bytes) !== index.checks[block]) {
      this.file.forget();
      throw damaged(this.file.name);
    }
    try {
      return await unpack(bytes, index.firsts[block], states, slideBits, valueStep !== null);
    } catch {
      throw damaged(this.file.name);
    }
  }

  #getBlock(index, block, states) {
    const found = this.#blocks.get(block) ?? this.#readBlock(index, block, states);
    this.#blocks.delete(block); // the last used comes last
    this.#blocks.set(block, found);
    if (this.#blocks.size > KEPT) this.#blocks.delete(this.#blocks.keys().next().value);
    found.catch(() => this.#blocks.delete(block));
    return found;
  }

  /** {best, value} of a state of exponents: its best slides, and its value or null.  Null if it is not held. */
  async look(board, sum) {
    const { rules, block: size, valueStep } = this.header;
    const layer = this.layers.get(sum);
    if (!layer) return null;
    const { image, directions } = canonical(board, rules.symmetries);
    const rank = this.ranks.of(image);
    const index = await this.#getIndex();
    const block = lastAtMost(index.firsts, rank, layer.begin, layer.end);
    if (block < 0) return null;
    const { ranks, slides, values } = await this.#getBlock(index, block, Math.min(size, layer.states - (block - layer.begin) * size));
    const at = lastAtMost(ranks, rank);
    if (at < 0 || ranks[at] !== rank) return null;
    const best = rules.directions.filter((_, direction) => (slides[at] >> directions.indexOf(direction)) & 1);
    return { best, value: values && probability(values[at], valueStep) };
  }
}

/** The probability of a coarse value. */
function probability(byte, step) {
  if (byte === 255) return 1;
  return 1 / (1 + Math.exp((128 - byte) * step));
}
