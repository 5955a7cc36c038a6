// The rules of a game, read from the header of its policy.  Boards are lists of words, as in rules.js.

import { cellsOf, emptyCells, randomSpawn, slideTokens, tokensOf, withSpawn } from "../explorer/rules.js";
import { several } from "../explorer/text.js";

/** A sentence for the player: a board that is not one of the game. */
export class BoardError extends Error {}

const tileOf = (exponent) => String(2n ** BigInt(exponent));

export class Rules {
  constructor(rules) {
    Object.assign(this, rules);
    this.cells = rules.shape.reduce((product, size) => product * size);
    this.spawns = rules.spawns.map(([exponent, chance]) => ({ tile: 2 ** exponent, chance }));
  }

  /** The words of a board of exponents. */
  words(codes) {
    const word = (code) => (code === 0 ? "0" : code === this.x ? "x" : tileOf(code));
    return codes.map((code, cell) => (this.walls.includes(cell) ? "#" : word(code)));
  }

  /** The exponents of a board of words; x is `this.x`. */
  codes(cells) {
    return cells.map((word) => (word === "0" || word === "#" ? 0 : word === "x" ? this.x : Math.round(Math.log2(Number(word)))));
  }

  /** The sum of the tiles; x adds nothing. */
  sum(cells) {
    return cells.reduce((sum, word) => sum + (Number(word) || 0), 0);
  }

  /** Whether the x stand on a mask. */
  #stands(cells) {
    return !this.masks.length || this.masks.some((mask) => mask.every((cell) => cells[cell] === "x"));
  }

  #allowed(cells) {
    const codes = this.codes(cells);
    return this.#stands(cells) && codes.every((code, cell) => cells[cell] === "x" || code <= this.highest[cell]);
  }

  #wins(cells) {
    if (!this.#stands(cells)) return false;
    const codes = this.codes(cells);
    if (this.goal !== null && codes.some((code, cell) => cells[cell] !== "x" && code >= this.goal)) return true;
    const holds = (pattern) => pattern.every((code, cell) => code === null || code === codes[cell]);
    return this.patterns.some(holds) && this.#allowed(cells);
  }

  /** The allowed slides: {direction, tokens, ghosts, cells, end}, where end is "won", "ended" or "". */
  slides(tokens, like) {
    if (this.#goalSum(like)) return [];
    return this.directions.flatMap((direction) => {
      const { tokens: after, ghosts, moved } = slideTokens(tokens, this.lines[direction]);
      const cells = cellsOf(after, like);
      const wins = moved && this.#wins(cells);
      if (!moved || !(wins || this.#allowed(cells))) return [];
      const ended = this.horizon !== null && this.sum(cells) >= this.horizon;
      return [{ direction, tokens: after, ghosts, cells, end: wins ? "won" : ended ? "ended" : "" }];
    });
  }

  /** Why a slide is not allowed. */
  refusal({ tokens, cells }, direction) {
    const { tokens: after, moved } = slideTokens(tokens, this.lines[direction]);
    if (!moved) return "moves nothing";
    return this.#stands(cellsOf(after, cells)) ? "makes a tile that the game does not allow" : "breaks the formation";
  }

  #goalSum(cells) {
    return this.goalSum !== null && this.sum(cells) >= this.goalSum;
  }

  /** How the game stands on a state: "won", "lost", or "" if it goes on. */
  end(cells) {
    if (this.#goalSum(cells)) return "won";
    return this.slides(tokensOf(cells), cells).length ? "" : "lost";
  }

  /** A random start. */
  begin(random) {
    const { boards, spawns } = this.start;
    let cells = this.words(boards[Math.floor(random() * boards.length)]);
    for (let tile = 0; tile < spawns; tile++) {
      cells = withSpawn(cells, randomSpawn(cells, this.spawns, random));
    }
    return cells;
  }

  /** The board of a text: tiles by rows.  Raises `BoardError`. */
  parse(text) {
    const words = text.toLowerCase().split(/[\s,/;|]+/).filter(Boolean);
    if (words.length !== this.cells) {
      const shape = this.shape.join("x");
      throw new BoardError(`This has ${several(words.length, "cell")}, but a ${shape} board has ${this.cells}: write 0 for an empty cell.`);
    }
    const cells = words.map((word, cell) => this.#word(word, cell));
    this.#check(cells);
    return cells;
  }

  #word(word, cell) {
    const wall = this.walls.includes(cell);
    if ([".", "-", "_", "0"].includes(word) || (word === "#" && wall)) return wall ? "#" : "0";
    if (word === "x" && this.x !== null) return "x";
    if (!/^\d{1,20}$/.test(word)) throw new BoardError(`${word} is not a tile of this game: write 2, 4, 8, or 0 for an empty cell.`);
    const number = BigInt(word);
    if (number < 2n || (number & (number - 1n)) !== 0n) throw new BoardError(`${word} is not a power of two.`);
    return String(number);
  }

  #check(cells) {
    const codes = this.codes(cells);
    const high = cells.findIndex((word, cell) => word !== "x" && codes[cell] > this.highest[cell]);
    if (high >= 0) {
      const most = this.highest[high];
      throw new BoardError(`${cells[high]} is not allowed on cell ${high + 1}: ${most ? `at most ${tileOf(most)}` : "it holds no tile"}.`);
    }
    const xs = (words) => words.filter((word) => word === "x").length;
    const expected = xs(this.words(this.start.boards[0]));
    if (xs(cells) !== expected) throw new BoardError(`This game has ${expected} times x on the board.`);
    if (!this.#stands(cells)) throw new BoardError("The x do not stand where this game has them.");
    if (this.#goalSum(cells)) throw new BoardError("This board is won already.");
    if (emptyCells(cells).length === this.cells) throw new BoardError("This board is empty: a game begins with a tile.");
  }
}
