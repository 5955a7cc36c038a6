// Playing: the board with the values of its slides, the course of the game, and what can be set.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./language.js";
import { useGet } from "./api.js";
import { Board, emptyOnly, focusCell } from "./board.js";
import { Course } from "./course.js";
import { Game, newSeed } from "./game.js";
import { SavedGames } from "./games.js";
import { useNoting } from "./notebook.js";
import { Button, Choice, CopyLink, Facts, Headline, Icon, Live, Notes, Notice, Slides, directionOf, isChoice, letGo, useKeys, verdict } from "./parts.js";
import { Setup } from "./setup.js";
import { recall, remember, useSetting } from "./store.js";
import { apart, capital, count, endText, gradeName, gradeOf, numberOf, sizeOf, valueText } from "./text.js";
import { later, readRoute } from "./route.js";
import { boardText, isFree, largestOf, mirrored, randomFor, sumName, turned } from "./rules.js";
import { boardWords, placeWord } from "./tiles.js";

/** A game on a table that outlives renderings; the component is drawn again when it changes. */
export function useGame(info, objective) {
  const [, draw] = useState(0);
  const ref = useRef(null);
  if (!ref.current) {
    ref.current = new Game(info, objective, () => draw((turn) => turn + 1));
    ref.current.mode = recall("spawns", "random", "sessionStorage");
  }
  useEffect(() => ref.current.choose(objective), [objective]);
  return ref.current;
}

/** The slide that optimal play makes: one of the best, each with the same probability; the same for a seed. */
function bestOf({ answer: { best }, seed, at }) {
  return best[Math.floor(randomFor(seed, -2 - at)() * best.length)] || null;
}

/** Draws a game; a click on an empty cell spawns `tile` there while a spawn is waited for. */
export function GameBoard({ game, tile, onSlide, hints }) {
  const { cells, info } = game;
  const choosing = game.waits && game.mode === "chosen";
  return html`<${Board} shape=${info.shape} cells=${cells} shaken=${game.refusal} tokens=${game.tokens} ghosts=${game.ghosts} goals=${game.goals} label="Board"
    directions=${info.directions} onSlide=${onSlide} clickable=${emptyOnly(cells)} hint=${choosing ? hints : undefined}
    onCell=${choosing ? (cell) => game.spawn({ cell, tile }) : null} />`;
}

/** What a screen reader says after a slide. */
export function spoken(game, words) {
  const { cells, info, entries, at } = game;
  if (!cells) return "";
  const before = entries[at - 1];
  const parts = game.refusal ? [game.refusal] : [];
  if (before?.slide && !game.waits) parts.push(`${capital(before.slide)}.`);
  if (before?.spawn && !game.waits) parts.push(`New ${before.spawn.tile} in ${placeWord(before.spawn.cell, info.shape)}.`);
  if (game.waits) parts.push("Choose the next tile.");
  if (game.end) parts.push(endText(game.end, game.answer?.refused));
  return [...parts, words, `${boardWords(cells, info.shape)}.`].filter(Boolean).join(" ");
}

const session = (game, view) => `${view}.${game.table}`;

/** Begin as the address says: with the game that this tab keeps for a `view`, with the board, or with a new game. */
export async function begin(game, board, view) {
  const kept = view ? recall(session(game, view), null, "sessionStorage") : null;
  if (kept && kept.board === board) {
    try {
      game.seed = kept.seed;
      return game.load(kept.record, kept.at, kept.drawn);
    } catch {
      remember(session(game, view), null, "sessionStorage"); // what is stored does not fit this table
    }
  }
  return game.attempt(() => (board ? game.begin(board) : game.restart(game.seed)));
}

function keep(game, view) {
  const { record, at, seed, board, entries } = game;
  if (entries.length < 2000) remember(session(game, view), { record, at, seed, board, drawn: entries[0].drawn }, "sessionStorage");
}

const PAUSE = 350; // milliseconds between changes of the address: browsers refuse more than 100 in 30 seconds

/** Follow the address: begin with its board, and write the board of the game into it. */
export function useAddress(game, route, go, view) {
  const board = game.board;
  const written = useRef(null);
  const last = useRef(0);
  useEffect(() => {
    if (written.current === null || (route.board && route.board !== written.current)) begin(game, route.board, view);
  }, [route.board]);
  useLayoutEffect(() => {
    if (!board) return undefined;
    const write = () => {
      last.current = Date.now();
      written.current = board;
      if (view) keep(game, view);
      if (readRoute().board !== board) go({ board }, { replace: true });
    };
    return later(write, Math.max(0, last.current + PAUSE - Date.now()));
  }, [board, game.entries.length]);
}

/** Make a best slide by itself after each `pause` in milliseconds, while `on`; `stop` is called where none can be made. */
export function useAutoplay(game, on, pause, stop = () => {}) {
  const { answer, waits, problem, end } = game;
  useEffect(() => {
    if (!on) return undefined;
    if (problem || end) stop();
    if (problem || end || !answer || waits) return undefined;
    const best = bestOf(game);
    if (!best) stop();
    const timer = setTimeout(() => best && game.slide(best, false), pause);
    return () => clearTimeout(timer);
  }, [on, pause, answer, waits, problem, end, game.at]);
}

/** What each spawn leads to, while the user chooses one: a function from cells to values as text. */
function useHints(game, tile, unit) {
  const board = game.waits && game.mode === "chosen" ? boardText(game.cells, game.info.shape) : null;
  const { data } = useGet(board && "spawns", { table: game.table, board, objective: game.objective });
  if (!board || data?.board !== board) return undefined;
  const spawns = data.spawns.filter((spawn) => spawn.tile === tile);
  const told = spawns.every(({ value }) => value?.kind === "rounded") ? apart(spawns.map(({ value }) => numberOf(value)), unit) : spawns.map(({ value }) => value?.short);
  const found = new Map(spawns.map(({ cell }, index) => [cell, told[index]]));
  return (cell) => found.get(cell) || "";
}

const MODES = [
  ["random", "Random"],
  ["chosen", "I choose"],
  ["best", "Best"],
  ["adversary", "Worst"],
];

/** How tiles are spawned, also after a reload. */
export function Spawning({ game }) {
  const choose = (mode) => {
    remember("spawns", mode, "sessionStorage");
    game.setMode(mode);
  };
  return html`<${Choice} name="mode" label="Next spawn" value=${game.mode} options=${MODES} onChange=${choose} />`;
}

/** Begin with the board turned or mirrored, where that changes nothing but the look. */
export function Turn({ game }) {
  const { info, cells } = game;
  if (!isFree(info) || game.board.includes("x")) return null;
  const show = (image) => () => game.attempt(() => game.begin(image(cells, info.shape)));
  const square = info.shape[0] === info.shape[1];
  return html`<div class="bar-of-buttons">
    ${square && html`<${Button} onClick=${show(turned)}>Rotate<//>`}
    <${Button} onClick=${show(mirrored)}>Mirror<//>
  </div>`;
}

export function Play({ info, route, go, objective, unit, digits, setDigits }) {
  const game = useGame(info, objective);
  const [auto, setAuto] = useState(false);
  const [speed, setSpeed] = useSetting("speed", 4);
  const [tile, setTile] = useState(info.spawns[0].tile);
  const [editing, setEditing] = useState(false);
  const hints = useHints(game, tile, unit);
  useAddress(game, route, go, "game");
  const lost = useNoting(game, "play");
  useAutoplay(game, auto, 1000 / speed, () => setAuto(false));
  const slide = (direction) => {
    setAuto(false);
    game.slide(direction);
  };
  const fresh = () => {
    setAuto(false);
    game.attempt(() => game.restart(newSeed()));
  };
  const edit = (on) => {
    setAuto(false);
    setEditing(on);
    scrollTo(0, 0); // to the board: what was clicked is far below it on a phone
  };
  useKeys((key, event) => {
    if (editing) return false;
    const direction = directionOf(key, info.directions);
    if (direction && game.waits && game.mode === "chosen") return focusCell(direction) || true;
    if (direction) return slide(direction) || true;
    if (event.target.matches("button, summary, a") && [" ", "Enter"].includes(key)) return false;
    const action = {
      z: () => game.undo(), u: () => game.undo(), y: () => game.redo(), n: fresh,
      " ": () => setAuto(!auto), ...Object.fromEntries(info.spawns.map((spawn) => [spawn.tile, () => setTile(spawn.tile)])),
    }[key];
    action?.();
    return Boolean(action);
  });
  if (editing || (!game.cells && game.problem && route.board)) {
    const done = async (board) => {
      await game.begin(board);
      edit(false);
    };
    return html`<${Setup} info=${info} cells=${game.cells} problem=${editing ? null : game.problem} text=${editing ? "" : route.board}
      goals=${game.goals} onPlay=${done} onCancel=${game.cells ? () => edit(false) : fresh} cancel=${game.cells ? "Back to the game" : "New game"} />`;
  }
  if (!game.cells) return game.problem ? html`<${Notice} again=${() => begin(game, route.board)}>${game.problem}<//>` : html`<p class="wait">Loading …</p>`;
  return html`<div class="play columns">
    <div class="left">
      <div class="stage">
        <${GameBoard} game=${game} tile=${tile} onSlide=${slide} hints=${hints} />
        <${Status} game=${game} tile=${tile} setTile=${setTile} />
        <div class="bar-of-buttons">
          <${Button} icon="undo" label="Undo (Z)" disabled=${!game.canUndo} onClick=${() => game.undo()} />
          <${Button} icon="redo" label="Redo (Y)" disabled=${!game.canRedo} onClick=${() => game.redo()} />
          <${Button} icon="new" onClick=${fresh}>New game<//>
          <${Button} icon=${auto ? "pause" : "play"} aria-pressed=${auto} disabled=${Boolean(game.end)} onClick=${() => setAuto(!auto)}>Autoplay<//>
          <label class="speed"><span>Speed</span>
            <input type="range" min="1" max="30" value=${speed} aria-valuetext=${`${speed} slides a second`} onInput=${(event) => setSpeed(+event.target.value)} onClick=${letGo} />
          </label>
        </div>
      </div>
      <${Course} game=${game} unit=${unit} />
    </div>
    <div class="side">
      <${Values} game=${game} digits=${digits} setDigits=${setDigits} unit=${unit} onSlide=${slide} />
      ${lost && html`<${Notice}>${lost}<//>`}
      <${Tools} game=${game} onEdit=${() => edit(true)} />
    </div>
    <${Live}>${game.answer || game.end || game.waits ? spoken(game, game.answer?.value ? `Value ${valueText(game.answer.value, digits)}.` : "") : ""}<//>
  </div>`;
}

/** What the game waits for, or how it ended, or what went wrong. */
export function Status({ game, tile, setTile }) {
  if (game.problem) return html`<${Notice} again=${() => game.again()}>${game.problem}<//>`;
  if (game.waits && game.mode === "chosen") {
    const tiles = game.info.spawns.map((spawn) => [spawn.tile, String(spawn.tile)]);
    return html`<div class="notice choose" role="note"><p>Click an empty cell to put a tile there.</p>
      <${Choice} name="spawn" label="Tile" value=${tile} options=${tiles} onChange=${setTile} />
    </div>`;
  }
  const end = endText(game.end, game.answer?.refused);
  return end ? html`<div class=${`notice end ${game.end}`} role="note"><p>${end}</p></div>` : null;
}

/** What the last slide was worth, in a word and a sentence, or why it was not made; before the first, a `hint`. */
export function Verdict({ game, hint, children }) {
  const before = game.entries[game.waits ? game.at : game.at - 1];
  const made = Game.made(before);
  const words = game.refusal || (made && (verdict(before, made) || "The table has no values here."));
  const grade = !game.refusal && made && isChoice(before.answer) && gradeOf(made, sizeOf(before.answer.value));
  return html`<div class=${`verdict ${grade || ""}`} aria-label="Verdict" role="group">
    <p>${grade && html`<b>${gradeName(grade)}.</b>`} ${words || hint}</p>
    ${children}
  </div>`;
}

function Values({ game, digits, setDigits, unit, onSlide }) {
  const { shown, answer, entries, at, end } = game;
  const stale = !answer && !end;
  const chosen = game.waits && Game.made(entries[at]);
  const pending = chosen?.value && { value: chosen.value, meaning: `after ${chosen.direction}, before the spawn` };
  return html`<section class="card values" aria-label="Values">
    ${entries[at].end ? html`<div class="headline"><strong>${capital(entries[at].end)}</strong></div>` : html`<${Headline} answer=${pending || shown} digits=${digits} setDigits=${setDigits} stale=${stale && !pending} />`}
    <${Slides} info=${game.info} answer=${entries[at].end ? { slides: [], best: [] } : shown} digits=${digits} unit=${unit} onSlide=${onSlide} stale=${stale} chosen=${game.waits ? entries[at].slide : ""} />
    <${Verdict} game=${game} hint=${endText(end, answer?.refused) || "Slide with the arrow keys, a swipe, or these buttons."} />
    <${Notes} answer=${answer} />
    ${shown && html`<${Facts} items=${[[sumName(game.info), count(shown.sum)], ["Largest tile", count(end ? largestOf(entries[at].cells) : shown.largest)], ["Move", at]]} />`}
  </section>`;
}

/** The next spawn, seed, set-up, link, saved games. */
function Tools({ game, onEdit }) {
  const [typed, setTyped] = useState({ text: "", before: null }); // what is typed counts until the game has another seed
  const [said, say] = useState("");
  const seed = typed.before === game.seed ? typed.text : String(game.seed);
  const restart = (event) => {
    event.preventDefault();
    const number = Number(seed === "" ? game.seed : seed);
    const whole = Number.isSafeInteger(number) && number >= 0;
    say(whole ? "" : "A seed is a whole number.");
    if (whole) game.attempt(() => game.repeat(number));
  };
  return html`<section class="card tools" aria-label="Game">
    <${Spawning} game=${game} />
    <form onSubmit=${restart}>
      <label class="field" title="The same seed and the same slides give the same game.">
        <span>Seed</span>
        <input inputmode="numeric" size="8" maxlength="9" value=${seed} onInput=${(event) => setTyped({ text: event.target.value, before: game.seed })} />
      </label>
      <button class="button"><${Icon} name="again" /><span>Restart</span></button>
    </form>
    ${said && html`<${Notice}>${said}<//>`}
    <div class="bar-of-buttons">
      <${Button} icon="edit" onClick=${onEdit}>Set up a position<//>
      <${CopyLink} />
    </div>
    <${Turn} game=${game} />
    <${SavedGames} game=${game} />
  </section>`;
}

