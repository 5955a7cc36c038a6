// The colours of tiles, as src/tilebase/game/board.py has them, and the words for cells.

import { placeOf, rowsOf } from "./rules.js";

// FILLS[e - 1] is the colour of the tile 2**e; larger tiles are black.
export const FILLS = [
  "#f3ece2", "#eee0c9", "#f5bd85", "#f29e62", "#f0885c", "#c93f1e", "#f2dc8c", "#e9bf3a",
  "#c4b84a", "#9dbb62", "#6fb58a", "#2b7f86", "#34749c", "#4c529b", "#6d3b83", "#8a2f5e",
];
const X_FILL = "#2f2b3a";
const [DARK, LIGHT] = ["#3d352e", "#ffffff"];

function exponent(word) {
  const power = /^2\^(\d+)$/.exec(word);
  return power ? +power[1] : Math.round(Math.log2(+word));
}

/** The colour of a tile. */
export const fillOf = (word) => (word === "x" ? X_FILL : FILLS[exponent(word) - 1] || "#000000");

function luminance(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const channel = parseInt(colour.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

const inks = new Map();

/** The colour of text with more contrast to a fill. */
export function inkOf(fill) {
  if (!inks.has(fill)) inks.set(fill, contrast(DARK, fill) >= contrast(LIGHT, fill) ? DARK : LIGHT);
  return inks.get(fill);
}

/** What is written on a tile. */
export const labelOf = (word) => (word === "x" ? "×" : word);

/** The size of the text on a tile, as a part of the width of its cell: the text may fill 0.82 of it. */
export const textSize = (word) => Math.min(0.44, 0.82 / (0.68 * labelOf(word).length));

/** A cell in words. */
export const cellWord = (word) => ({ 0: "empty", "#": "wall", x: "large tile" })[word] || word;

/** Where a cell is, in words. */
export function placeWord(cell, shape) {
  const { plane, row, column } = placeOf(cell, shape);
  return `${shape.length > 2 ? `plane ${plane + 1}, ` : ""}row ${row + 1}, column ${column + 1}`;
}

/** A board in words, row by row. */
export function boardWords(cells, shape) {
  const place = (row, width) => placeWord(row * width, shape).replace(/, column.*/, "");
  return rowsOf(cells, shape).map((words, row) => `${place(row, words.length)}: ${words.map(cellWord).join(", ")}`).join("; ");
}
