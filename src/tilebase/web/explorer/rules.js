// The moves of the game as pure functions.  A board is a list of words in row-major order: "0" for an empty
// cell, "#" for a wall, "x" for a tile that never merges, else the number of the tile.  A token is a tile
// with an identity, {id, cell, word}, so that a drawing can move it.  Nothing here knows the page.

let lastId = 0;

/** The tokens of a board: one for each tile. */
export function tokensOf(cells) {
  return cells.flatMap((word, cell) => (isTile(word) ? [{ id: ++lastId, cell, word }] : []));
}

/** Whether a word is a tile, x included. */
const isTile = (word) => word !== "0" && word !== "#";

/** The words of a board that holds these tokens; `like` is any board with the same walls. */
export function cellsOf(tokens, like) {
  const cells = like.map((word) => (word === "#" ? "#" : "0"));
  for (const { cell, word } of tokens) cells[cell] = word;
  return cells;
}

/** The word of the tile that two equal tiles make. */
export function doubled(word) {
  const power = /^2\^(\d+)$/.exec(word);
  return power ? `2^${+power[1] + 1}` : String(2n * BigInt(word));
}

/**
 * Slide tokens.  `lines` are lists of cells, each in the order from the cell that tiles move to; `merges(word)`
 * says whether two tiles of this word merge.  Returned are the tokens afterwards, `ghosts` (those that merged, on
 * the cell where they did) and whether anything moved.  A merged token has `merged: true` and a new id.
 */
export function slideTokens(tokens, lines, merges = (word) => word !== "x") {
  const at = new Map(tokens.map((token) => [token.cell, token]));
  const after = [];
  const ghosts = [];
  let moved = false;
  for (const line of lines) {
    let free = 0; // index in the line of the next cell that is free
    let open = null; // the last token placed, if it may still merge
    for (const cell of line) {
      const token = at.get(cell);
      if (!token) continue;
      if (open && open.word === token.word && merges(token.word)) {
        const target = open.cell;
        after.splice(after.indexOf(open), 1, { id: ++lastId, cell: target, word: doubled(token.word), merged: true });
        ghosts.push(open, { id: token.id, cell: target, word: token.word });
        open = null;
        moved = true;
        continue;
      }
      open = { id: token.id, cell: line[free++], word: token.word };
      moved ||= open.cell !== cell;
      after.push(open);
    }
  }
  return { tokens: after, ghosts, moved };
}

/** The empty cells of a board. */
export const emptyCells = (cells) => cells.flatMap((word, cell) => (word === "0" ? [cell] : []));

/** A random spawn, {cell, tile}: each empty cell is as likely as any other, and tiles by their chances. */
export function randomSpawn(cells, spawns, random) {
  const empty = emptyCells(cells);
  const cell = empty[Math.floor(random() * empty.length)];
  let left = random();
  for (const { tile, chance } of spawns) {
    left -= chance;
    if (left < 0) return { cell, tile };
  }
  return { cell, tile: spawns[spawns.length - 1].tile };
}

/** A board with a tile spawned. */
export const withSpawn = (cells, { cell, tile }) => cells.map((word, at) => (at === cell ? String(tile) : word));

/** A generator of random numbers in [0, 1): mulberry32 by Tommy Ettinger, in the public domain. */
export function mulberry32(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** The random numbers for the spawn after a move, so that the same seed and slides give the same game. */
export const randomFor = (seed, move) => mulberry32((seed + Math.imul(move + 1, 0x9e3779b1)) >>> 0);

/** The rows of a board, those of all planes. */
export function rowsOf(cells, shape) {
  const width = shape[shape.length - 1];
  return Array.from({ length: cells.length / width }, (_, row) => cells.slice(row * width, (row + 1) * width));
}

const textOf = (rows) => rows.map((row) => row.join(",")).join("/");

/** A board as text: rows joined by "/", cells by ",". */
export const boardText = (cells, shape) => textOf(rowsOf(cells, shape));

/** The text of a square board after a quarter turn clockwise. */
export const turned = (cells, shape) => textOf(rowsOf(cells, shape)[0].map((_, column) => rowsOf(cells, shape).map((row) => row[column]).reverse()));

/** The text of a board mirrored left to right. */
export const mirrored = (cells, shape) => textOf(rowsOf(cells, shape).map((row) => row.reverse()));

/** Whether a board of a game may be turned and mirrored: the rules do not tell cells apart, or it is a real board. */
export const isFree = (info) => info.shape.length === 2 && !info.walls.length && Boolean(info.plain || info.unmergeable);

/** The largest tile of cells, unmergeable tiles and walls aside; 0 on an empty board. */
export const largestOf = (cells) => Math.max(0, ...cells.map(Number).filter(Number.isFinite));

/** What the sum of a board is called: large tiles never count, as in the layers of a table. */
export const sumName = (info) => (info.unmergeable ? "Sum without large tiles" : "Sum");

/** The words of a text as `boardText` writes it. */
export const wordsOf = (text) => text.split(/[,/]/);

/** The rows and columns of a board, from its text. */
export const shapeOf = (text) => [text.split("/").length, text.split("/")[0].split(",").length];

/** The plane, row and column of a cell, each counted from 0. */
export function placeOf(cell, shape) {
  const [rows, columns] = shape.slice(-2);
  return {
    plane: Math.floor(cell / (rows * columns)),
    row: Math.floor(cell / columns) % rows,
    column: cell % columns,
  };
}

/** Whether two boards are equal. */
export const sameCells = (one, other) => one.length === other.length && one.every((word, at) => word === other[at]);
