// Setting up a position: by clicking cells, or by pasting a board in any notation.

import { html, useState } from "./language.js";
import { StillBoard, focusCell } from "./board.js";
import { Button, Notice, directionOf, useKeys } from "./parts.js";
import { boardText } from "./rules.js";
import { cellWord, fillOf, inkOf, labelOf } from "./tiles.js";

const MOST_CHOICES = 16; // tiles offered for a game without a goal: up to 65536

/** The words that a cell can hold, in the order in which clicks go through them. */
function wordsFor(info) {
  const tiles = [];
  for (let tile = 2; tiles.length < MOST_CHOICES && (info.goal === null || tile < info.goal); tile *= 2) tiles.push(String(tile));
  return ["0", ...tiles, ...(info.unmergeable ? ["x"] : [])];
}

const goalsOf = (info) => info.goal_cells.map(({ cell }) => cell); // of boards that are not rotated

const emptyBoard = (info) => Array.from({ length: info.cells }, (_, cell) => (info.walls.includes(cell) ? "#" : "0"));

function Palette({ words, brush, setBrush }) {
  const swatch = (word) => (word === "0" ? "" : `background:${fillOf(word)};color:${inkOf(fillOf(word))}`);
  const entry = (word, text, style) => html`<label>
    <input type="radio" name="brush" value=${word} checked=${brush === word} onChange=${() => setBrush(word)} />
    <span style=${style}>${text}</span>
  </label>`;
  return html`<fieldset class="palette">
    <legend>Tile that a click puts</legend>
    <div>
      ${entry("next", "next", "")}
      ${words.map((word) => entry(word, word === "0" ? cellWord(word) : labelOf(word), swatch(word)))}
    </div>
  </fieldset>`;
}

/** props: the board to begin with and its goal cells, or a text that did not fit and why; onPlay(text) throws a `Problem`. */
export function Setup({ info, cells, goals, problem, text, onPlay, onCancel, cancel }) {
  const words = wordsFor(info);
  const [board, setBoard] = useState(() => cells || emptyBoard(info));
  const [dashed, setDashed] = useState(cells ? goals : goalsOf(info));
  const [brush, setBrush] = useState("next");
  const [pasted, setPasted] = useState(text || "");
  const [wrong, setWrong] = useState(problem);
  const [drawn, setDrawn] = useState(!problem); // a text that is not a board is not shown as an empty one
  const put = (cell, event) => {
    const back = event.type === "contextmenu" || event.shiftKey;
    event.preventDefault();
    const at = words.indexOf(board[cell]) + (back ? words.length - 1 : 1);
    const word = brush === "next" ? words[at % words.length] : brush;
    setBoard(board.map((old, index) => (index === cell ? word : old)));
  };
  const play = async (what) => {
    setWrong(null);
    try {
      await onPlay(what);
    } catch (error) {
      setWrong(error.message);
    }
  };
  const clear = () => {
    setBoard(emptyBoard(info));
    setDashed(goalsOf(info));
  };
  useKeys((key) => {
    const direction = key.startsWith("Arrow") && directionOf(key, info.directions);
    if (direction) focusCell(direction);
    return Boolean(direction);
  });
  const submit = (event) => {
    event.preventDefault();
    play(pasted);
  };
  return html`<div class="play setup">
    <div class="stage">
      ${wrong && html`<${Notice}>${wrong}<//>`}
      ${drawn && html`<${StillBoard} cells=${board} shape=${info.shape} goals=${dashed} label="Board to set up" onCell=${put} clickable=${(cell) => board[cell] !== "#"} />`}
      <div class="bar-of-buttons">
        ${drawn
          ? html`<${Button} kind="main" icon="play" onClick=${() => play(boardText(board, info.shape))}>Play from here<//>
            <${Button} onClick=${clear}>Clear<//>`
          : html`<${Button} icon="edit" onClick=${() => setDrawn(true)}>Begin with an empty board<//>`}
        <${Button} onClick=${onCancel}>${cancel}<//>
      </div>
    </div>
    <div class="side">
      <section class="card">
        <h2>Set up a position</h2>
        ${drawn && html`<p class="quiet">Click a cell for the next larger tile<span class="mouse">, with Shift for the next smaller one</span>. Or choose a tile and click the cells where it stands.${dashed.length ? " The goal wins on the dashed cells." : ""}</p>
        <${Palette} words=${words} brush=${brush} setBrush=${setBrush} />`}
        <form onSubmit=${submit}>
          <label class="field"><span>${drawn ? "Or paste a board" : "Paste a board"}</span>
            <textarea rows="4" spellcheck=${false} placeholder=${boardText(cells || emptyBoard(info), info.shape)} value=${pasted} onInput=${(event) => setPasted(event.target.value)}></textarea>
          </label>
          <p class="quiet">${info.notation || "Rows of tiles, a picture, JSON, hexadecimal digits or a key."}${info.formation ? " Large tiles are written as they are." : ""}</p>
          <button class="button" disabled=${!pasted.trim()}>Show this board</button>
        </form>
      </section>
    </div>
  </div>`;
}
