// The blocks of a policy: which boards are afterstates, and where their values lie.  src/tilebase/_kernels/page.py writes them.

export const HALVINGS = 15;
const LIMIT = 60; // the most bits that a counter counts
const [FLAGS, KINDS, PAIRS, CELLS, EMPTIES, COUNTERS] = [65536, 66560, 71168, 333312, 333824, 333888]; // where each kind of counters begins, but the first
const EVEN = 1 << 15; // the probability 1/2, and the first weights, in 65536ths
const MOST_WEIGHT = 1 << 18;
const ANYTHING = 1 << 8; // beside the sides to which boards are slid

const LOGITS = Int32Array.from({ length: 4096 }, (_, part) => Math.floor(256 * Math.log((part + 0.5) / (4095.5 - part)) + 0.5));
const CHANCES = Int32Array.from({ length: 4096 }, (_, at) => Math.min(Math.max(Math.floor(65536 / (1 + Math.exp((2048 - at) / 256)) + 0.5), 32), 65504));
const GAINS = Int32Array.from({ length: LIMIT + 1 }, (_, seen) => Math.floor(32768 / (seen + 1.5)));

const bounded = (number, least, most) => Math.min(Math.max(number, least), most);

/** Bits of an arithmetic coder, each predicted by two counters, which a mixer weighs. */
class Bits {
  #data;
  #at = 0;
  #low = 0;
  #high = 0xffffffff;
  #code = 0;
  #counters = new Int32Array(COUNTERS).fill(EVEN << 6);
  #weights = new Int32Array(20).fill(EVEN);

  constructor(data) {
    this.#data = data;
    for (let byte = 0; byte < 4; byte++) this.#next();
  }

  /** Whether all bytes were read, and no more. */
  get done() {
    return this.#at === this.#data.length;
  }

  #next() {
    this.#code = ((this.#code << 8) | this.#data[this.#at++]) >>> 0;
  }

  /** A bit that is 1 with the probability `chance` / 65536. */
  read(chance) {
    const middle = this.#low + Math.floor(((this.#high - this.#low) * chance) / 65536);
    const bit = Number(this.#code <= middle);
    if (bit) this.#high = middle;
    else this.#low = middle + 1;
    while ((this.#low ^ this.#high) >>> 24 === 0) {
      this.#low = (this.#low << 8) >>> 0;
      this.#high = ((this.#high << 8) | 255) >>> 0;
      this.#next();
    }
    return bit;
  }

  #learn(counter, bit) {
    const seen = this.#counters[counter] & 63;
    let chance = this.#counters[counter] >> 6;
    chance += ((bit * 65535 - chance) * GAINS[seen]) >> 15;
    this.#counters[counter] = (chance << 6) | Math.min(seen + 1, LIMIT);
  }

  predicted(first, second, mixer) {
    const weights = this.#weights;
    const [a, b] = [2 * mixer, 2 * mixer + 1];
    const [x, y] = [LOGITS[this.#counters[first] >> 10], LOGITS[this.#counters[second] >> 10]];
    const chance = CHANCES[bounded((weights[a] * x + weights[b] * y) >> 16, -2048, 2047) + 2048];
    const bit = this.read(chance);
    const error = (bit << 16) - chance;
    weights[a] = bounded(weights[a] + ((x * error) >> 14), -MOST_WEIGHT, MOST_WEIGHT);
    weights[b] = bounded(weights[b] + ((y * error) >> 14), -MOST_WEIGHT, MOST_WEIGHT);
    this.#learn(first, bit);
    this.#learn(second, bit);
    return bit;
  }
}

/** The boards that a slide can leave, in the order of their ranks, by the cells that may hold several codes. */
export class Boards {
  constructor(ranks, { block, info: { directions, lines }, rules: { symmetries } }) {
    this.block = block; // the most boards of a block, and after how many in a row that are not afterstates it ends
    const opened = [...ranks.codes.keys()].filter((cell) => ranks.codes[cell].length > 1);
    this.cells = opened.length;
    const place = new Map(opened.map((cell, index) => [cell, index]));
    this.codes = opened.map((cell) => Int32Array.from(ranks.codes[cell]));
    this.halves = opened.map((cell) => Int32Array.from(ranks.codes[cell], ranks.half));
    this.ways = opened.map((cell) => ranks.ways[cell + 1]); // of the cells after each
    this.images = symmetries.slice(1).map(([cells]) => Int32Array.from(opened, (cell) => place.get(cells[cell])));
    // The first cell that a symmetry moves holds no larger code than the cell whose code comes there.
    this.least = opened.map(() => []);
    for (const image of this.images) {
      const first = image.findIndex((source, cell) => source !== cell);
      if (first >= 0) this.least[image[first]].push(first);
    }
    this.sides = (1 << directions.length) - 1;
    // Of each cell, the sides to which no board is slid if it is not empty, and if it is:
    this.lost = opened.map(() => [0, 0]);
    // and its neighbours before it, with the sides that are lost if it is not empty and the neighbour is, or the other way round
    this.near = opened.map(() => []);
    directions.forEach((direction, side) => lines[direction].forEach((line) => line.slice(1).forEach((behind, at) => {
      for (const [cell, other, empty] of [[line[at], behind, 1], [behind, line[at], 0]]) {
        const [index, before] = [place.get(cell), place.get(other)];
        if (index === undefined || before > index) continue;
        if (before === undefined) {
          if (ranks.codes[other].includes(0) !== Boolean(empty)) this.lost[index][empty] |= 1 << side;
          continue;
        }
        let near = this.near[index].find((one) => one.cell === before);
        if (!near) this.near[index].push((near = { cell: before, lost: [0, 0] }));
        near.lost[empty] |= 1 << side;
      }
    })));
    const row = () => new Int32Array(opened.length + 1);
    // Of the board where the walk stands: codes, their positions, and before each cell half the sum that is left, sides, empty cells, rank
    Object.assign(this, { board: row(), at: row(), left: row(), slid: row(), empty: row(), rank: new Float64Array(opened.length + 1) });
  }

  /** How often the cells after one have the sum that a code leaves them. */
  #ways(cell, at) {
    const rest = this.left[cell] - this.halves[cell][at];
    return rest < 0 ? 0 : this.ways[cell][rest];
  }

  /** Put a code on a cell; whether the cells after it can complete a board that can be slid. */
  #put(cell, at) {
    const { board, rank } = this;
    rank[cell + 1] = at === 0 ? rank[cell] : rank[cell + 1] + this.#ways(cell, at - 1);
    this.at[cell] = at;
    const code = this.codes[cell][at];
    if (this.#ways(cell, at) === 0 || this.least[cell].some((other) => code < board[other])) return false;
    const none = code === 0 ? 1 : 0;
    const near = this.near[cell];
    let lost = this.lost[cell][none];
    for (let index = 0; index < near.length; index++) {
      if ((board[near[index].cell] === 0) !== (code === 0)) lost |= near[index].lost[none];
    }
    board[cell] = code;
    this.left[cell + 1] = this.left[cell] - this.halves[cell][at];
    this.slid[cell + 1] = this.slid[cell] & ~lost;
    this.empty[cell + 1] = this.empty[cell] + none;
    return this.slid[cell + 1] !== 0;
  }

  #isCandidate() {
    const { board, images } = this;
    if (!this.empty[this.cells] && !(this.slid[0] & ANYTHING)) return false;
    for (const image of images) {
      for (let cell = 0; cell < this.cells; cell++) {
        const other = board[image[cell]];
        if (other < board[cell]) return false;
        if (other > board[cell]) break;
      }
    }
    return true;
  }

  #begin(rank, half, loose) {
    this.left[0] = half;
    this.slid[0] = this.sides | (loose ? ANYTHING : 0);
    let going = true;
    for (const [cell, codes] of this.codes.entries()) {
      let at = 0;
      going = this.#put(cell, at);
      while (at + 1 < codes.length && this.rank[cell + 1] + this.#ways(cell, at) <= rank) going = this.#put(cell, ++at);
      if (!going) throw new RangeError("a block has another length");
    }
  }

  #advance() {
    let cell = this.cells - 1;
    while (cell >= 0) {
      if (this.at[cell] + 1 === this.codes[cell].length) cell--;
      else if (this.#put(cell, this.at[cell] + 1)) {
        if (++cell === this.cells) return true;
        this.at[cell] = -1;
      }
    }
    return false;
  }

  /** What a block holds that begins with the board of a rank: ranks, and of each the cell of its value, as {begin, size}. */
  read(data, rank, sum, loose) {
    const bits = new Bits(data);
    const { board, empty } = this;
    const found = { ranks: [], begins: [], sizes: [] };
    let [candidates, absent, flags, before, earlier] = [0, 0, 0, 128, 128];
    this.#begin(rank, sum / 2, loose);
    for (let going = true; going; going = this.#advance()) {
      if (!this.#isCandidate()) continue;
      const none = bounded(empty[this.cells], 1, 4) - 1;
      let low = 0;
      for (let cell = 1; cell <= 3 && cell <= this.cells; cell++) low |= (board[this.cells - cell] & 15) << (4 * cell - 4);
      const there = bits.predicted((low << 4) | ((flags & 3) << 2) | none, FLAGS + ((flags << 2) | none), 0);
      flags = ((flags << 1) | there) & 255;
      absent = there ? 0 : absent + 1;
      if (there) {
        const kind = before === 0 ? 16 : before === 255 ? 17 : (before + earlier) >> 5;
        const pair = PAIRS + ((((low & 255) << 2) | none) << 8);
        let node = 1;
        for (let level = 1; level <= 8; level++) node = (node << 1) | bits.predicted(KINDS + ((kind << 8) | node), pair + node, level);
        [before, earlier] = [node & 255, before];
        let [begin, size] = [before, 1];
        for (let half = 0; half < HALVINGS && !bits.predicted(CELLS + ((before >> 3) << 4) + half, EMPTIES + (none << 4) + half, 9); half++) {
          size /= 2;
          begin += bits.read(EVEN) * size;
        }
        found.ranks.push(this.rank[this.cells]);
        found.begins.push(begin);
        found.sizes.push(size);
      }
      if (++candidates === this.block[0] || absent === this.block[1]) break;
    }
    if (!bits.done) throw new RangeError("a block has another length");
    return found;
  }
}
