// The rules of a game, read from the header of its policy.  Boards are lists of words, as in rules.js.

import { cellsOf, emptyCells, randomSpawn, slideTokens, tokensOf, withSpawn } from "../explorer/rules.js";
import { several } from "../explorer/text.js";

/** A sentence for the player: a board that is not one of the game. */
export class BoardError extends Error {}

/** All choices of so many of some cells. */
function* choices(cells, number, begin = 0) {
  if (!number) yield [];
  else for (let at = begin; at < cells.length; at++) for (const rest of choices(cells, number - 1, at + 1)) yield [cells[at], ...rest];
}

const tileOf = (exponent) => String(2n ** BigInt(exponent));

/** Where the tile of a row and column of an image comes from, in the order in which a server tries them. */
const IMAGES = [
  ["as given", (row, column) => [row, column]],
  ["rotated by 180 degrees", (row, column, last, end) => [last - row, end - column]],
  ["rotated by 90 degrees clockwise", (row, column, last) => [last - column, row]],
  ["rotated by 90 degrees counterclockwise", (row, column, last, end) => [column, end - row]],
  ["mirrored left to right", (row, column, last, end) => [row, end - column]],
  ["mirrored top to bottom", (row, column, last) => [last - row, column]],
  ["mirrored at the diagonal from the top left", (row, column) => [column, row]],
  ["mirrored at the diagonal from the top right", (row, column, last, end) => [last - column, end - row]],
];

export class Rules {
  /** `info` is what the server tells of a table; `rules` are those parts of its game that slides and texts need. */
  constructor(info, rules) {
    Object.assign(this, info, rules);
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

  /** Why the horizon decides what the slides of an endgame are worth, as `Answer.cut` of a table; else empty. */
  cut(cells) {
    if (this.x === null || this.horizon === null) return "";
    const end = `the table ends at the sum ${this.horizon}`;
    if (this.sum(cells) >= this.horizon) return `${end}: after the next slide nothing more is counted`;
    const goal = this.goals.length ? 2 ** Math.min(...this.patterns.map((pattern) => Math.max(...pattern))) : Infinity;
    return cells.some((word) => Number(word) >= goal) ? `${end}, and ${goal} was made outside the goal cells` : "";
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

  /** The cells on which the goal wins, if it does not win on all. */
  get goals() {
    const single = this.patterns.map((pattern) => pattern.flatMap((code, cell) => (code === null ? [] : [cell]))).filter((cells) => cells.length === 1);
    return [...new Set(single.flat())];
  }

  /**
   * {cells, large, image, orientation}: the board of a text; by cell, the tiles of a real board that are x, and the cell of the
   * text that stands there; how a real board was turned.  Raises `BoardError`.
   */
  parse(text) {
    const words = text.normalize("NFKC").toLowerCase().split(/[\s,/;|、]+/).filter(Boolean);
    if (words.length !== this.cells) {
      const shape = this.shape.join("x");
      throw new BoardError(`This has ${several(words.length, "cell")}, but a ${shape} board has ${this.cells}: write 0 for an empty cell.`);
    }
    const cells = words.map((word, cell) => this.#word(word, cell));
    if (this.x !== null && !(cells.includes("x") && this.#stands(cells))) return this.#real(cells);
    this.#check(cells);
    return { cells, large: null, image: cells.map((_, cell) => cell) };
  }

  /** A real board as one of the game: its large tiles are x, and it is rotated or mirrored so that they stand on a mask. */
  #real(cells) {
    const codes = this.codes(cells);
    const least = Math.min(this.goal ?? Infinity, ...this.patterns.map((pattern) => Math.max(...pattern)));
    const most = Math.max(...this.highest);
    const count = this.words(this.start.boards[0]).filter((word) => word === "x").length;
    const forced = codes.flatMap((code, cell) => (code > most ? [cell] : []));
    const able = codes.flatMap((code, cell) => (code >= least && code <= most ? [cell] : []));
    const there = forced.length + able.length;
    if (forced.length > count || there < count) {
      throw new BoardError(`This board has ${several(there, "large tile")} (${tileOf(least)} or more), but the game has ${count}.`);
    }
    for (const chosen of choices(able, count - forced.length)) {
      const large = new Set([...forced, ...chosen]);
      const marked = cells.map((word, cell) => (large.has(cell) ? "x" : word));
      for (const [orientation, image] of this.#images()) {
        const turned = image.map((cell) => marked[cell]);
        if (this.#fits(turned)) return { cells: turned, large: image.map((cell) => (large.has(cell) ? cells[cell] : null)), image, orientation };
      }
    }
    throw new BoardError("The large tiles of this board do not stand where this game has them, however it is turned, or the board is won already.");
  }

  #fits(cells) {
    return this.#stands(cells) && this.#allowed(cells) && !this.#wins(cells) && !this.#goalSum(cells) && (this.horizon === null || this.sum(cells) <= this.horizon);
  }

  /** The rotations and mirror images of the shape that keep the walls: their names, and by cell, which cell of the board comes there. */
  #images() {
    const cells = Array.from({ length: this.cells }, (_, cell) => cell);
    if (this.shape.length !== 2) return [["as given", cells]];
    const [rows, columns] = this.shape;
    const found = IMAGES.filter(([name]) => rows === columns || !/90|diagonal/.test(name));
    const from = ([row, column]) => row * columns + column;
    const imageOf = (source) => cells.map((cell) => from(source(Math.floor(cell / columns), cell % columns, rows - 1, columns - 1)));
    const wall = (cell) => this.walls.includes(cell);
    return found.map(([name, source]) => [name, imageOf(source)]).filter(([, image]) => image.every((cell, at) => wall(cell) === wall(at)));
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
    if (emptyCells(cells).length === this.cells) throw new BoardError("This board is empty: a game begins with a tile.");
  }
}
