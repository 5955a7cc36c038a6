// The trainer: values are hidden until you have moved; what your slides lost is counted.

import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { MiniBoard } from "./board.js";
import { Game, newSeed } from "./game.js";
import { Button, Facts, Live, Notes, Slides, directionOf, useKeys, verdict } from "./parts.js";
import { GameBoard, Status, begin, spoken, useAddress, useGame } from "./play.js";
import { sumName } from "./rules.js";
import { useSetting } from "./store.js";
import { MISTAKE, capital, count, either, lossText, numberOf, percent, valueText } from "./text.js";

const SHOWN = 12; // mistakes that are listed

/** What the trainer knows of the slides so far: `judged` are {slide, loss, of, best, mistake, cells, board}. */
function summary(judged) {
  let run = 0;
  let longest = 0;
  for (const { mistake } of judged) {
    run = mistake ? 0 : run + 1;
    longest = Math.max(longest, run);
  }
  const total = judged.reduce((sum, one) => sum + (one.loss || 0), 0);
  const agreed = judged.filter((one) => one.best).length;
  const of = Math.max(0, ...judged.map((one) => one.of));
  const mistakes = judged.filter((one) => one.mistake).length;
  return { total, of, longest, run, mistakes, mean: judged.length ? total / judged.length : null, part: judged.length ? agreed / judged.length : null };
}

/** Judge each slide once, as soon as the answer for its position is known. */
function useJudged(game) {
  const [judged, setJudged] = useState([]);
  const seen = useRef(new Set());
  useEffect(() => {
    const found = game.entries.filter((entry) => entry.slide && Game.made(entry) && !seen.current.has(entry));
    if (!found.length) return;
    found.forEach((entry) => seen.current.add(entry));
    setJudged([...judged, ...found.map(judge).filter(Boolean)]);
  });
  return [judged, () => setJudged([])];
}

function judge(entry) {
  const { answer } = entry;
  const made = Game.made(entry);
  if (!answer.best.length || made.loss === null) return null;
  return { slide: made.direction, loss: made.loss, of: Math.abs(numberOf(answer.value) ?? 0), text: made.loss_text, best: made.best, mistake: made.mistake, bests: answer.best, cells: answer.cells, board: answer.board };
}

const WAYS = [
  ["start", "the start of the game"],
  ["uniform", "any position"],
  ["optimal", "a position that optimal play meets"],
];

function Starts({ game, info }) {
  const [by, setBy] = useSetting("train.by", "start");
  const [sum, setSum] = useState("");
  const first = info.sums?.[0];
  const last = info.sums?.[1];
  const start = (event) => {
    event.preventDefault();
    const options = by === "start" ? {} : { by, sum: sum || undefined };
    game.attempt(() => game.restart(newSeed(), options));
  };
  return html`<form class="card" onSubmit=${start} aria-label="Begin again">
    <h2>Begin again</h2>
    <label class="field"><span>From</span>
      <select value=${by} onChange=${(event) => setBy(event.target.value)}>
        ${WAYS.filter(([way]) => way === "start" || info.sums).map(([way, text]) => html`<option value=${way} selected=${way === by}>${text}</option>`)}
      </select>
    </label>
    ${by !== "start" &&
    html`<label class="field"><span>${sumName(info)}${info.sums ? `, ${first} to ${last}` : ""}; empty for any</span>
      <input inputmode="numeric" pattern="[0-9]*" maxlength="7" value=${sum} onInput=${(event) => setSum(event.target.value)} />
    </label>`}
    <button class="button">Start</button>
  </form>`;
}

function Mistakes({ judged, shape, onTry }) {
  const mistakes = judged.filter((one) => one.mistake).sort((one, other) => other.loss - one.loss);
  if (!mistakes.length) return null;
  return html`<section class="card mistakes" aria-labelledby="mistakes">
    <h2 id="mistakes">Mistakes</h2>
    <p class="quiet">Slides that lost ${MISTAKE}.</p>
    <ul class="boards">
      ${mistakes.slice(0, SHOWN).map(
        (one) => html`<li>
          <${MiniBoard} cells=${one.cells} shape=${shape} />
          <p>${capital(one.slide)} lost <b class="loss-text">${one.text}</b>.<br />Best was ${either(one.bests)}.</p>
          <${Button} onClick=${() => onTry(one)}>Play again<//>
        </li>`,
      )}
    </ul>
    ${mistakes.length > SHOWN && html`<p class="quiet">The ${SHOWN} largest of ${count(mistakes.length)} are shown.</p>`}
  </section>`;
}

/** The verdict on the last slide, and the run of slides without a mistake: beside the board, so that a phone shows it, too. */
function Verdict({ game, sums }) {
  const before = game.entries[game.at - 1];
  const made = Game.made(before);
  const words = made && (verdict(before, made) || "The table has no values here.");
  return html`<div class="verdict" aria-label="Verdict" role="group">
    <p class=${!made ? "quiet" : made.best ? "good" : made.mistake ? "loss-text" : ""}>${words || "Which slide is best?"}</p>
    <p class="run">Run <b>${count(sums.run)}</b></p>
  </div>`;
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
    <h2>What the slides were worth</h2>
    <div class="before"><${MiniBoard} cells=${before.cells} shape=${game.info.shape} />
      <p>${before.answer.meaning}: <b>${valueText(before.answer.value, digits)}</b></p></div>
    <${Slides} info=${game.info} answer=${before.answer} digits=${digits} unit=${unit} chosen=${made.direction} />
    <${Notes} answer=${game.answer} />
  </section>`;
}

export function Trainer({ info, route, go, objective, unit, digits }) {
  const game = useGame(info, objective);
  const [judged, reset] = useJudged(game);
  useAddress(game, route, go, false);
  const fresh = () => game.attempt(() => game.restart(newSeed()));
  useKeys((key) => {
    const direction = directionOf(key, info.directions);
    if (direction) game.slide(direction);
    else if (key === "n") fresh();
    return Boolean(direction) || key === "n";
  });
  if (!game.cells) {
    return html`<${Status} game=${{ problem: game.problem, again: () => begin(game, ""), info }} />${!game.problem && html`<p class="wait">Loading …</p>`}`;
  }
  const again = async ({ board }) => {
    await game.attempt(() => game.begin(board));
    document.querySelector(".stage").scrollIntoView({ block: "start" }); // the list of mistakes is far below it
  };
  const sums = summary(judged);
  const last = verdict(game.entries[game.at - 1], Game.made(game.entries[game.at - 1]));
  const directions = game.answer?.slides.map((slide) => slide.direction);
  const hidden = game.answer && { ...game.answer, best: [] };
  return html`<div class="play">
    <div class="stage">
      <${GameBoard} game=${game} onSlide=${(direction) => game.slide(direction)} />
      <${Verdict} game=${game} sums=${sums} />
      <${Status} game=${game} />
      <div class="pad" role="group" aria-label="Slides">
        ${info.directions.map(
          (direction) => html`<${Button} icon=${direction} aria-disabled=${Boolean(hidden && !directions.includes(direction))} onClick=${() => game.slide(direction)}>${capital(direction)}<//>`,
        )}
      </div>
      <section class="card" aria-label="Agreement">
        <${Facts} items=${[
          ["Best slides", percent(sums.part)],
          ["Slides", count(judged.length)],
          [`Mistakes (${MISTAKE})`, count(sums.mistakes)],
          ["Mean loss", lossText(sums.mean, unit, sums.of)],
          ["Total loss", lossText(judged.length ? sums.total : null, unit, sums.of)],
          ["Longest run", count(sums.longest)],
        ]} />
        <div class="bar-of-buttons">
          <${Button} icon="new" onClick=${fresh}>New game<//>
          <${Button} disabled=${!judged.length} onClick=${reset}>Count from zero<//>
        </div>
      </section>
    </div>
    <div class="side">
      <${Feedback} game=${game} digits=${digits} unit=${unit} />
      <${Starts} game=${game} info=${info} />
    </div>
    <${Mistakes} judged=${judged} shape=${info.shape} onTry=${again} />
    <${Live}>${game.answer || game.end ? spoken(game, last) : ""}<//>
  </div>`;
}
