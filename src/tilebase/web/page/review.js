// Reviewing a written game: which slides lost how much.

import { html, useRef, useState } from "./vendor/htm-preact.js";
import { post } from "./api.js";
import { StillBoard } from "./board.js";
import { LineChart } from "./chart.js";
import { Button, Facts, Icon, Notice, Toggle, useKeys } from "./parts.js";
import { wordsOf } from "./rules.js";
import { recall, remember } from "./store.js";
import { capital, count, either, lossText, numberOf, percent, several, short, valueText } from "./text.js";

const MOST_ROWS = 3000;

export function Review({ info, go, objective, unit, digits, setDigits }) {
  const [text, setText] = useState(() => recall(`review.${info.name}`, "", "sessionStorage"));
  const [state, setState] = useState({ review: null, problem: null, busy: false });
  const review = async (game) => {
    setState({ review: null, problem: null, busy: true });
    remember(`review.${info.name}`, game.length < 100000 ? game : "", "sessionStorage");
    try {
      setState({ review: await post("review", { table: info.name, game, objective: objective || null }), problem: null, busy: false });
    } catch (error) {
      setState({ review: null, problem: error.message, busy: false });
    }
  };
  const submit = (event) => {
    event.preventDefault();
    review(text);
  };
  const choose = async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    const content = await file.text();
    setText(content);
    review(content);
    event.target.value = "";
  };
  const current = recall(`game.${info.name}`, null, "sessionStorage");
  const own = () => {
    const game = JSON.stringify(current.record);
    setText(game);
    review(game);
  };
  return html`<div class="review">
    <form class="card" onSubmit=${submit}>
      <label class="field"><span>A game: saved by tilebase, a 2048verse replay, or a list of positions, one a line</span>
        <textarea rows="5" spellcheck="false" value=${text} onInput=${(event) => setText(event.target.value)}></textarea>
      </label>
      <div class="bar-of-buttons">
        <button class="button main" disabled=${!text.trim() || state.busy}>Review</button>
        <label class="button file"><input type="file" accept=".json,.txt,.csv,text/plain,application/json" onChange=${choose} /><span>Open a file</span></label>
        ${current?.record?.moves?.length > 0 && html`<${Button} onClick=${own}>Review the game just played<//>`}
      </div>
    </form>
    ${state.problem && html`<${Notice}>${state.problem}<//>`}
    ${state.busy && html`<p class="wait">Reviewing …</p>`}
    ${state.review && html`<${Result} review=${state.review} info=${info} unit=${unit} go=${go} digits=${digits} setDigits=${setDigits} objective=${objective} />`}
  </div>`;
}

function Result({ review, info, unit, go, digits, setDigits }) {
  const [at, setAt] = useState(review.drops.length ? review.drops[0] - 1 : 0);
  const [only, setOnly] = useState(false);
  const { moves } = review;
  const values = moves.map((move) => numberOf(move.value));
  const move = moves[at];
  const step = (by) => setAt(Math.max(0, Math.min(moves.length - 1, at + by)));
  useKeys((key) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (by) step(by);
    return Boolean(by);
  });
  if (!moves.length) return html`<${Notice}>This game has no positions.<//>`;
  const label = `Value over ${several(moves.length, "position")}, from ${short(values[0], unit)} to ${short(values[values.length - 1], unit)}.`;
  return html`<div class="play">
    <div class="stage">
      <${StillBoard} cells=${wordsOf(move.board)} shape=${info.shape} label=${`Board before move ${move.number}`} />
      <div class="bar-of-buttons">
        <${Button} icon="left" label="Position before" disabled=${at === 0} onClick=${() => step(-1)} />
        <${Button} icon="right" label="Next position" disabled=${at === moves.length - 1} onClick=${() => step(1)} />
        <${Button} icon="play" onClick=${() => go({ view: "play", board: move.board })}>Play from here<//>
      </div>
      <${Move} move=${move} digits=${digits} unit=${unit} />
    </div>
    <div class="side">
      <section class="card" aria-label="Summary">
        <h2>${several(review.positions, "position")}, read as ${review.form === "positions" ? "a list" : `a ${review.form}`}</h2>
        <${Facts} items=${[
          ["Best slides", review.agreement === null ? "–" : `${percent(review.agreement)}, ${count(review.agreed)} of ${count(review.reviewed)}`],
          ["Mean loss", lossText(review.mean_loss, unit)],
          ["Total loss", lossText(review.total_loss, unit)],
          ["Longest run without a mistake", count(review.longest_run)],
          review.unknown > 0 && ["Not in the table", count(review.unknown)],
        ]} />
        <${LineChart} values=${values} marks=${review.drops.map((number) => number - 1)} current=${at} onPick=${setAt} unit=${unit} label=${label} />
        ${review.drops.length > 0 &&
        html`<h3>Largest losses</h3>
          <ol class="drops">${review.drops.slice(0, 5).map((number) => html`<${Drop} move=${moves[number - 1]} unit=${unit} onPick=${() => setAt(number - 1)} />`)}</ol>`}
      </section>
    </div>
    <section class="card review-result" aria-labelledby="moves">
      <div class="titles"><h2 id="moves">Moves</h2>
        <div class="bar-of-buttons"><${Toggle} checked=${only} onChange=${setOnly}>Only losses<//><${Toggle} checked=${digits} onChange=${setDigits}>All digits<//></div>
      </div>
      <${Moves} moves=${moves} at=${at} setAt=${setAt} only=${only} digits=${digits} unit=${unit} />
    </section>
  </div>`;
}

function Drop({ move, unit, onPick }) {
  return html`<li><button type="button" onClick=${onPick}>
    <b>−${lossText(move.loss, unit)}</b><span>Move ${move.number}: ${move.slide}, best was ${either(move.best)}</span>
  </button></li>`;
}

function Move({ move, digits, unit }) {
  const lost = move.slide && move.loss !== null && !move.best.includes(move.slide);
  const words = !move.slide
    ? "The last position."
    : `${capital(move.slide)}${lost ? ` lost ${lossText(move.loss, unit)}. Best was ${either(move.best)}.` : move.best.length ? ", a best slide." : "."}`;
  return html`<div class="notice" role="status"><p><b>Move ${move.number}.</b> ${words} Value ${valueText(move.value, digits)}.${move.problem ? ` ${capital(move.problem)}` : ""}</p></div>`;
}

function Moves({ moves, at, setAt, only, digits, unit }) {
  const ref = useRef();
  const rows = moves.filter((move) => !only || (move.slide && move.best.length && !move.best.includes(move.slide)));
  return html`<div class="scroll moves" ref=${ref} tabindex="0" role="region" aria-label="Moves of the game">
    <table>
      <thead><tr><th scope="col">Move</th><th scope="col">Slide</th><th scope="col" class="right">Loss</th><th scope="col">Best</th><th scope="col" class="right">Value</th></tr></thead>
      <tbody>
        ${rows.slice(0, MOST_ROWS).map((move) => {
          const best = move.best.includes(move.slide);
          return html`<tr key=${move.number} aria-current=${move.number === at + 1 ? "true" : undefined} onClick=${() => setAt(move.number - 1)}>
            <td><button type="button" class="link" onClick=${() => setAt(move.number - 1)}>${move.number}</button></td>
            <td>${move.slide || "–"}${best && html` <${Icon} name="check" /><span class="hidden"> best</span>`}</td>
            <td class="right">${move.loss > 0 && !best ? html`<span class="loss-text">−${lossText(move.loss, unit)}</span>` : ""}</td>
            <td>${move.problem ? "not in the table" : best ? "" : either(move.best)}</td>
            <td class="right">${valueText(move.value, digits)}</td>
          </tr>`;
        })}
      </tbody>
    </table>
    ${!rows.length && html`<p class="quiet">No slide lost anything.</p>`}
    ${rows.length > MOST_ROWS && html`<p class="quiet">The first ${count(MOST_ROWS)} of ${count(rows.length)} are shown.</p>`}
  </div>`;
}
