// The trainer: values are hidden until you have moved; what your slides lost is counted.

import { html, useState } from "./language.js";
import { MiniBoard } from "./board.js";
import { Game, newSeed } from "./game.js";
import { Notebook, anyImage, clock, useNoting, useOwnSlides } from "./notebook.js";
import { Button, Live, Notes, Notice, Slides, directionOf, isChoice, useKeys, verdict } from "./parts.js";
import { GameBoard, Spawning, Status, Turn, Verdict, begin, spoken, useAddress, useGame } from "./play.js";
import { sumName } from "./rules.js";
import { useSetting } from "./store.js";
import { MISTAKE, capital, count, lossText, percent, several, sizeOf, valueText } from "./text.js";

const NONE = { slides: 0, best: 0, mistakes: 0, lost: 0, of: 0, run: 0, longest: 0 };

/** What the trainer counts of your slides, with one more that the table judged. */
function counted(sums, entry) {
  const { answer } = entry;
  const made = Game.made(entry);
  if (!isChoice(answer) || made.loss === null) return sums;
  const run = made.mistake ? 0 : sums.run + 1;
  return {
    slides: sums.slides + 1, best: sums.best + made.best, mistakes: sums.mistakes + made.mistake, lost: sums.lost + made.loss,
    of: Math.max(sums.of, sizeOf(answer.value)), run, longest: Math.max(run, sums.longest),
  };
}

/** The counts of this sitting, which a reload keeps, and a function that begins them again. */
function useSitting(game) {
  const [sums, keep] = useSetting(`sitting.${game.table}.${game.objective || ""}`, NONE, "sessionStorage");
  useOwnSlides(game, (entries) => keep(entries.reduce(counted, sums)));
  return [sums, () => keep(NONE)];
}

const WAYS = [
  ["start", "the start of the game"],
  ["uniform", "any position"],
  ["optimal", "a position that optimal play meets"],
];

function Starts({ game, info }) {
  const [chosen, setBy] = useSetting("train.by", "start");
  const by = info.sums ? chosen : "start";
  const [sum, setSum] = useState("");
  const first = info.sums?.[0];
  const last = info.sums?.[1];
  const [busy, setBusy] = useState(false);
  const start = async (event) => {
    event.preventDefault();
    const options = by === "start" ? {} : { by, sum: sum || undefined };
    setBusy(true);
    await game.attempt(() => game.restart(newSeed(), options));
    setBusy(false);
  };
  return html`<form onSubmit=${start} aria-label="Begin again">
    <label class="field"><span>From</span>
      <select value=${by} onChange=${(event) => setBy(event.target.value)}>
        ${WAYS.filter(([way]) => way === "start" || info.sums).map(([way, text]) => html`<option value=${way} selected=${way === by}>${text}</option>`)}
      </select>
    </label>
    ${by !== "start" &&
    html`<label class="field"><span>${sumName(info)}${info.sums ? `, ${first} to ${last}` : ""}; empty for any</span>
      <input inputmode="numeric" pattern="[0-9]*" maxlength="7" value=${sum} onInput=${(event) => setSum(event.target.value)} />
    </label>`}
    <button class="button" disabled=${busy}>${busy ? "Finding a position …" : "Start"}</button>
  </form>`;
}

/** The last slide: the values of all that were possible, and what it lost. */
function Feedback({ game, digits, unit }) {
  const before = game.entries[game.at - 1];
  const made = Game.made(before);
  if (!made) {
    return html`<section class="card" aria-label="Last slide">
      <p class="quiet">Slide first. Then you see here what each slide was worth, and what yours lost.</p>
      <${Notes} answer=${game.answer} />
    </section>`;
  }
  return html`<section class="card" aria-label="Last slide">
    <div class="before"><${MiniBoard} cells=${before.cells} shape=${game.info.shape} />
      <p>${before.answer.meaning}: <b>${valueText(before.answer.value, digits)}</b></p></div>
    <${Slides} info=${game.info} answer=${before.answer} digits=${digits} unit=${unit} chosen=${made.direction} />
    <${Notes} answer=${game.answer} />
  </section>`;
}

/** The slides of this sitting, in one line. */
function Sitting({ sums, unit, reset }) {
  const { slides, lost, of } = sums;
  if (!slides) return null;
  const parts = [
    several(slides, "slide"), `${percent(sums.best / slides)} best`, `${several(sums.mistakes, "mistake")} (${MISTAKE})`,
    `${lossText(lost, unit, of)} lost in all`, `${lossText(lost / slides, unit, of)} a slide`, `longest run ${count(sums.longest)}`,
  ];
  return html`<p class="sitting" aria-label="Agreement" role="group">${parts.join(" · ")} <${Button} kind="plain" onClick=${reset}>Count from zero<//></p>`;
}

export function Trainer({ info, route, go, objective, unit, digits }) {
  const game = useGame(info, objective);
  const [tile, setTile] = useState(info.spawns[0].tile);
  const [sums, reset] = useSitting(game);
  const lost = useNoting(game, "train");
  useAddress(game, route, go, "train");
  const [drill, setDrill] = useState([]); // the position that is practised, with its `image`, and those after it
  const practise = async ([first, ...others]) => {
    const image = first && anyImage(first.worst.board, info);
    setDrill(first ? [{ ...first, image }, ...others] : []);
    await game.attempt(() => (first ? game.begin(image) : game.restart(newSeed())));
    document.querySelector(".stage").scrollIntoView({ block: "start" }); // the notebook is far below it
  };
  const fresh = () => practise(drill.slice(1));
  useKeys((key) => {
    const direction = directionOf(key, info.directions);
    if (direction) game.slide(direction);
    else if (key === "n") fresh();
    else if (["z", "u"].includes(key)) game.undo();
    else return false;
    return true;
  });
  if (!game.cells) return game.problem ? html`<${Notice} again=${() => begin(game, "")}>${game.problem}<//>` : html`<p class="wait">Loading …</p>`;
  const before = game.entries[game.at - 1];
  const last = verdict(before, Game.made(before));
  const rests = before?.answer?.board === drill[0]?.image && Game.made(before)?.best && drill[0].rests > Date.now();
  const directions = game.answer?.slides.map((slide) => slide.direction);
  return html`<div class="play train">
    <div class="stage"><${GameBoard} game=${game} tile=${tile} onSlide=${(direction) => game.slide(direction)} /></div>
    <div class="side">
      <${Verdict} game=${game} hint=${"Which slide is best?"}><p class="run">Run <b>${count(sums.run)}</b></p><//>
      ${rests && html`<p class="quiet">Right, but this position counts again from ${clock(drill[0].rests)}.</p>`}
      <${Status} game=${game} tile=${tile} setTile=${setTile} />
      <div class="pad" role="group" aria-label="Slides">
        ${info.directions.map(
          (direction) => html`<${Button} icon=${direction} aria-disabled=${Boolean(game.end || (directions && !directions.includes(direction)))} onClick=${() => game.slide(direction)}>${capital(direction)}<//>`,
        )}
      </div>
      <div class="bar-of-buttons">
        <${Button} icon=${drill.length > 1 ? "right" : "new"} kind=${drill.length > 1 ? "main" : ""} onClick=${fresh}>${drill.length > 1 ? `Next position (${drill.length - 1} left)` : "New game"}<//>
        <${Button} icon="undo" label="Undo (Z)" disabled=${!game.canUndo} onClick=${() => game.undo()} />
      </div>
      <${Feedback} game=${game} digits=${digits} unit=${unit} />
    </div>
    <div class="below">
      <${Sitting} sums=${sums} unit=${unit} reset=${reset} />
      ${lost && html`<${Notice}>${lost}<//>`}
      <details class="card"><summary>Where to begin, and what is spawned</summary>
        <${Starts} game=${game} info=${info} />
        <${Spawning} game=${game} />
        <${Turn} game=${game} />
      </details>
      <${Notebook} info=${info} onTry=${practise} />
    </div>
    <${Live}>${game.answer || game.end ? spoken(game, last) : ""}<//>
  </div>`;
}
