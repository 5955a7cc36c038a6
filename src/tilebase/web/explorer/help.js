// The help dialog: keys, and what the page can do.

import { html, useEffect, useRef } from "./language.js";
import { Button } from "./parts.js";

const KEYS = [
  ["Arrow keys, or WASD", "slide"],
  ["R and F, or Page Up and Page Down", "slide to the front or the back of a box"],
  ["Left and right arrow", "in a review: the position before, the next position"],
  ["N and P", "in a review: the next mistake, the one before"],
  ["Z or U", "undo; at the start of a game, back to the game before"],
  ["Y", "redo"],
  ["N", "new game; Z brings the last one back"],
  ["Space", "start or stop the autoplay"],
  ["2 and 4", "the tile to put, if you choose the spawns"],
  ["Arrow keys, then Enter", "choose a cell, if you set up a board or choose the spawns"],
  ["Tab, then Enter", "any button or link"],
  ["?", "this help"],
];

export function Help({ open, onClose }) {
  const dialog = useRef();
  useEffect(() => {
    if (open && !dialog.current.open) dialog.current.showModal();
  }, [open]);
  const outside = (event) => event.target === dialog.current && dialog.current.close();
  return html`<dialog ref=${dialog} aria-labelledby="help" onClose=${onClose} onClick=${outside}>
    ${open &&
    html`<div>
      <div class="titles"><h2 id="help">Help</h2><${Button} icon="close" kind="plain" label="Close" onClick=${() => dialog.current.close()} /></div>
      <dl class="keys">${KEYS.map(([keys, what]) => html`<div><dt>${keys}</dt><dd>${what}</dd></div>`)}</dl>
      <p>You can also swipe on the board, or click the slides beside it. A check marks the best slides; the number beside the others is what they lose.</p>
      <p>The same seed and the same slides give the same game. The address of the page names the position, so you can share it.</p>
      <p>This page contains <a href="vendor/htm-preact.LICENSE">htm and Preact</a>; the link leads to their licences.</p>
    </div>`}
  </dialog>`;
}
