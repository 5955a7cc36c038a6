// Boards: the large one with tiles that move, and the small ones in lists.

import { html, useRef } from "./language.js";
import { emptyCells, placeOf, tokensOf } from "./rules.js";
import { boardWords, cellWord, fillOf, inkOf, labelOf, placeWord, textSize } from "./tiles.js";

// Lengths in widths of a cell: the space around a cell, and between the planes of a box.
const GAP = 0.1;
const PLANE_GAP = 0.3;
const SWIPE = 24; // pixels that a finger must move

/** Sizes of a drawn board in widths of a cell, and where its cells and planes are. */
function layout(shape) {
  const [rows, columns] = shape.slice(-2);
  const planes = shape.length > 2 ? shape[0] : 1;
  const planeWidth = columns * (1 + GAP) + GAP;
  return {
    rows,
    columns,
    planes,
    planeWidth,
    width: planes * planeWidth + (planes - 1) * PLANE_GAP,
    height: rows * (1 + GAP) + GAP,
    left: (cell) => {
      const { plane, column } = placeOf(cell, shape);
      return plane * (planeWidth + PLANE_GAP) + GAP + column * (1 + GAP);
    },
    top: (cell) => GAP + placeOf(cell, shape).row * (1 + GAP),
  };
}

const part = (length, whole) => `${((100 * length) / whole).toFixed(4)}%`;

function box(sizes, left, top, width = 1, height = 1) {
  const { width: w, height: h } = sizes;
  return `left:${part(left, w)};top:${part(top, h)};width:${part(width, w)};height:${part(height, h)};`;
}

/** Bricks, so that a wall differs from a tile even without colours. */
const Wall = () => html`<svg viewBox="0 0 100 100" aria-hidden="true">
  <path d="M0 33h100M0 67h100M50 0v33m0 34v33M25 33v34m50-34v34" />
</svg>`;

/** A mark on a cell on which the goal wins, drawn over its tile. */
const Goal = ({ cell, sizes }) => html`<div class="goal" style=${box(sizes, sizes.left(cell), sizes.top(cell))}></div>`;

function Tile({ token, sizes, ghost }) {
  const { word } = token;
  const fill = fillOf(word);
  const move = `translate(${(100 * sizes.left(token.cell)).toFixed(2)}%,${(100 * sizes.top(token.cell)).toFixed(2)}%)`;
  const size = `width:${part(1, sizes.width)};height:${part(1, sizes.height)};`;
  const font = `font-size:${((100 * textSize(word)) / sizes.width).toFixed(3)}cqw;`;
  const locked = word === "x";
  const how = ghost ? "ghost" : locked ? "locked" : token.merged ? "merged" : token.spawned ? "spawned" : "";
  return html`<div class="tile ${how}" style=${`${size}transform:${move}`}>
    <span style=${locked ? "" : `background:${fill};color:${inkOf(fill)};${font}`}>${locked ? "" : labelOf(word)}</span>
  </div>`;
}

/** The rows of a plane as a table for screen readers, whose cells can be buttons. */
function Plane({ plane, props, sizes }) {
  const { cells, shape, onCell, clickable, hint, label, goals = [] } = props;
  const title = sizes.planes > 1 ? `${label}, plane ${plane + 1}` : label;
  const rows = Array.from({ length: sizes.rows }, (_, row) => row);
  const cellAt = (row, column) => (plane * sizes.rows + row) * sizes.columns + column;
  const left = plane * (sizes.planeWidth + PLANE_GAP);
  return html`<div class="plane" style=${box(sizes, left, 0, sizes.planeWidth, sizes.height)}></div>
    <div class="cells" role="table" aria-label=${title}>
      ${rows.map(
        (row) => html`<div role="row">
          ${Array.from({ length: sizes.columns }, (_, column) => {
            const cell = cellAt(row, column);
            const word = cells[cell];
            const at = box(sizes, sizes.left(cell), sizes.top(cell));
            const press = onCell && clickable(cell);
            const name = `${cellWord(word)}${goals.includes(cell) ? ", goal cell" : ""}`;
            return html`<div role="cell" class=${word === "#" ? "cell wall" : "cell"} style=${at}>
              ${press
                ? html`<button type="button" data-cell=${cell} onClick=${(event) => onCell(cell, event)} onContextMenu=${(event) => onCell(cell, event)}>
                    <span class="hidden">${placeWord(cell, shape)}: ${name}${hint?.(cell) ? `, ${hint(cell)}` : ""}</span>
                    <span class="hint" aria-hidden="true">${hint?.(cell)}</span>
                  </button>`
                : html`<span class="hidden">${name}</span>`}
              ${word === "#" && html`<${Wall} />`}
            </div>`;
          })}
        </div>`,
      )}
    </div>`;
}

/** The direction of a swipe by (x, y) pixels, or null. */
function swipeOf(x, y, directions) {
  if (Math.max(Math.abs(x), Math.abs(y)) < SWIPE) return null;
  const name = Math.abs(x) > Math.abs(y) ? (x < 0 ? "left" : "right") : y < 0 ? "up" : "down";
  return directions.includes(name) ? name : null;
}

/**
 * The large board.  props: shape, cells, tokens, ghosts, label; `goals`, the cells on which the goal wins if it does
 * not win on all; onSlide(direction) and directions for swipes; onCell(cell, event) with clickable(cell) for cells
 * that are buttons, and hint(cell), a text on them.
 */
export function Board(props) {
  const { shape, cells, tokens, ghosts = [], goals = [], onSlide, directions = [], shaken = "" } = props;
  const sizes = layout(shape);
  const from = useRef(null);
  const planes = Array.from({ length: sizes.planes }, (_, plane) => plane);
  const start = (event) => {
    if (event.isPrimary !== false) from.current = { x: event.clientX, y: event.clientY };
  };
  const end = (event) => {
    if (!from.current || !onSlide) return;
    const name = swipeOf(event.clientX - from.current.x, event.clientY - from.current.y, directions);
    from.current = null;
    if (name) onSlide(name);
  };
  const cancel = () => {
    from.current = null;
  };
  const wide = `--ratio:${(sizes.width / sizes.height).toFixed(4)};`;
  return html`<div class=${`board${onSlide ? " swipes" : ""}${shaken ? " shaken" : ""}`} style=${wide} onPointerDown=${start} onPointerUp=${end} onPointerCancel=${cancel}>
    ${planes.map((plane) => html`<${Plane} plane=${plane} props=${props} sizes=${sizes} />`)}
    <div class="tiles" aria-hidden="true">
      ${ghosts.map((token) => html`<${Tile} key=${token.id} token=${token} sizes=${sizes} ghost=${true} />`)}
      ${tokens.map((token) => html`<${Tile} key=${token.id} token=${token} sizes=${sizes} />`)}
      ${goals.map((cell) => html`<${Goal} key=${`goal ${cell}`} cell=${cell} sizes=${sizes} />`)}
    </div>
  </div>`;
}

/** A board that does not move. */
export function StillBoard({ cells, shape, label, ...others }) {
  return html`<${Board} cells=${cells} shape=${shape} label=${label} tokens=${tokensOf(cells)} ...${others} />`;
}

/** A small board as an image; planes are side by side. */
export function MiniBoard({ cells, shape, mark, goals = [] }) {
  const sizes = layout(shape);
  const square = (cell, word) => {
    const at = box(sizes, sizes.left(cell), sizes.top(cell));
    const goal = goals.includes(cell) ? " aim" : "";
    if (word === "0") return html`<i class=${`empty${goal}`} style=${at}></i>`;
    if (word === "x") return html`<i class=${`locked${goal}`} style=${at}></i>`;
    if (word === "#") return html`<i class="wall" style=${at}><${Wall} /></i>`;
    const fill = fillOf(word);
    const font = `font-size:${((100 * textSize(word)) / sizes.width).toFixed(2)}cqw;`;
    const colours = `background:${fill};color:${inkOf(fill)};`;
    return html`<i class=${cell === mark ? "new" : ""} style=${at + font + colours}>${labelOf(word)}</i>`;
  };
  return html`<span class="mini" role="img" aria-label=${boardWords(cells, shape)} style=${`--ratio:${(sizes.width / sizes.height).toFixed(4)}`}>
    ${cells.map((word, cell) => square(cell, word))}
  </span>`;
}

/** Move the focus among cells that are buttons: to the nearest one in a direction, or to the first one. */
export function focusCell(direction) {
  const buttons = [...document.querySelectorAll(".cell button")];
  const middle = (button) => {
    const { left, top, width, height } = button.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  };
  const [dx, dy] = { left: [-1, 0], right: [1, 0], up: [0, -1], down: [0, 1] }[direction] || [0, 0];
  const from = buttons.includes(document.activeElement) ? middle(document.activeElement) : null;
  let best = from ? null : buttons[0];
  let least = Infinity;
  for (const button of from ? buttons : []) {
    const [x, y] = middle(button).map((place, axis) => place - from[axis]);
    const ahead = x * dx + y * dy;
    const cost = ahead + 3 * Math.abs(x * dy + y * dx);
    if (ahead > 1 && cost < least) [best, least] = [button, cost];
  }
  best?.focus();
}

/** What makes only empty cells buttons. */
export const emptyOnly = (cells) => {
  const empty = new Set(emptyCells(cells));
  return (cell) => empty.has(cell);
};
