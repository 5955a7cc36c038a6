// Certificates: play against the spawns that keep the goal from being made, or see the forced win.

import { html, useEffect, useState } from "./language.js";
import { focusCell } from "./board.js";
import { Button, Choice, Facts, Live, Notes, Notice, Slides, directionOf, useKeys } from "./parts.js";
import { GameBoard, Status, spoken, useAddress, useAutoplay, useGame } from "./play.js";
import { capital, count } from "./text.js";

const WORDS = {
  forced: ["The goal is forced", "You are the adversary: choose each spawn. The certificate answers each spawn with a slide, and wins."],
  "not forced": ["The goal is not forced", "You slide, and the certificate spawns. Whatever you do, you do not make the goal."],
};

export function Certificate({ info, route, go, objective, unit }) {
  const game = useGame(info, objective);
  const forced = info.claim === "forced";
  const [tile, setTile] = useState(info.spawns[0].tile);
  const [by, setBy] = useState("chosen");
  const mode = forced ? by : "adversary";
  useEffect(() => {
    if (game.mode !== mode) game.setMode(mode);
  }, [mode]);
  useAddress(game, route, go, false);
  useAutoplay(game, forced, 450); // so that the reader of a forced win only chooses spawns
  const start = (board) => game.attempt(() => game.begin(board));
  const again = () => start(info.starts[Math.floor(Math.random() * info.starts.length)]);
  const slide = forced ? null : (direction) => game.slide(direction);
  useKeys((key) => {
    const direction = directionOf(key, info.directions);
    const action = { z: () => game.undo(), u: () => game.undo(), y: () => game.redo(), n: again, 2: () => setTile(2), 4: () => setTile(4) }[key];
    if (direction && forced) focusCell(direction);
    else if (direction) slide(direction);
    else action?.();
    return Boolean(direction || action);
  });
  if (!game.cells) return game.problem ? html`<${Notice} again=${again}>${game.problem}<//>` : html`<p class="wait">Loading …</p>`;
  const [title, text] = WORDS[info.claim];
  const last = game.entries[game.at - 1]?.slide;
  return html`<div class="play">
    <div class="stage">
      <${GameBoard} game=${game} tile=${tile} onSlide=${slide} />
      <${Status} game=${game} tile=${tile} setTile=${setTile} />
      <div class="bar-of-buttons">
        <${Button} icon="undo" label="Undo (Z)" disabled=${!game.canUndo} onClick=${() => game.undo()} />
        <${Button} icon="redo" label="Redo (Y)" disabled=${!game.canRedo} onClick=${() => game.redo()} />
        <${Button} icon="new" onClick=${again}>New game<//>
      </div>
    </div>
    <div class="side">
      <section class="card">
        <h2>${title}: ${info.goal ? `tile ${info.goal}` : `sum ${info.goal_sum}`}</h2>
        <p>${text}</p>
        ${forced
          ? html`<p class="last">${last ? `The certificate slid ${last}.` : ""}</p>
            <${Choice} name="by" label="Spawns" value=${by} options=${[["chosen", "I choose"], ["random", "Random"]]} onChange=${setBy} />`
          : html`<${Slides} info=${info} answer=${game.shown} unit=${unit} onSlide=${slide} stale=${!game.answer && !game.end} hideValues=${true} />`}
        <${Facts} items=${[["Boards in the certificate", count(info.positions)], ["Starts", count(info.starts.length)], ["Move", game.at]]} />
        <${Notes} answer=${game.answer} />
      </section>
    </div>
    <${Live}>${game.answer || game.end || game.waits ? spoken(game, last ? `${capital(last)}.` : "") : ""}<//>
  </div>`;
}
