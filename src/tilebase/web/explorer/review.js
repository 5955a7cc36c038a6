// Reviewing a written game: which slides lost how much.

import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { post } from "./api.js";
import { StillBoard } from "./board.js";
import { LineChart } from "./chart.js";
import { Button, Facts, Icon, Notice, Toggle, useKeys } from "./parts.js";
import { wordsOf } from "./rules.js";
import { recall, remember } from "./store.js";
import { MISTAKE, capital, changeText, count, either, lessText, numberOf, percent, rounded, several, valueText } from "./text.js";

const MOST_ROWS = 3000;

/** What this tab reviewed last, {game, at}: it is shown again after another view or a reload. */
function useKept(name) {
  const [kept, setKept] = useState(() => recall(name, { game: "", at: null }, "sessionStorage"));
  const keep = (next) => {
    remember(name, next, "sessionStorage");
    setKept(next);
  };
  return [kept, keep];
}

export function Review({ info, go, objective, unit, digits, setDigits }) {
  const [kept, keep] = useKept(`review.${info.name}`);
  const [text, setText] = useState(kept.game);
  const [state, setState] = useState({ review: null, problem: null, busy: false });
  const turn = useRef(0);
  const ask = async (game) => {
    const mine = ++turn.current;
    setState({ review: null, problem: null, busy: true });
    const answer = await post("review", { table: info.name, game, objective: objective || null }).then(
      (review) => ({ review, problem: null }),
      (error) => ({ review: null, problem: error.message }),
    );
    if (mine === turn.current) setState({ ...answer, busy: false });
  };
  const review = (game) => {
    keep({ game, at: null });
    ask(game);
  };
  useEffect(() => {
    if (kept.game) ask(kept.game);
    return () => {
      turn.current += 1;
    };
  }, [objective]);
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
    ${state.review && html`<${Result} review=${state.review} info=${info} unit=${unit} go=${go} digits=${digits} setDigits=${setDigits} first=${kept.at} keep=${(at) => keep({ ...kept, at })} />`}
  </div>`;
}

/** What the spawn after each slide changed; null where it is not known, or where values are no probabilities. */
const lucksOf = (values, afters, unit) =>
  values.map((_, index) => {
    const [after, next] = [afters[index], values[index + 1] ?? null];
    return unit !== "probability" || after === null || next === null ? null : next - after;
  });

function Result({ review, info, unit, go, digits, setDigits, first, keep }) {
  const { moves, drops } = review;
  const at = Math.min(first ?? (drops.length ? drops[0] - 1 : 0), moves.length - 1);
  const setAt = keep;
  const [only, setOnly] = useState(false);
  const values = moves.map((move) => numberOf(move.value));
  const afters = moves.map((move) => numberOf(move.slide_value));
  const lucks = lucksOf(values, afters, unit);
  const luck = lucks.reduce((sum, one) => sum + (one || 0), 0);
  const move = moves[at];
  const step = (by) => setAt(Math.max(0, Math.min(moves.length - 1, at + by)));
  useKeys((key) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (by) step(by);
    return Boolean(by);
  });
  if (!moves.length) return html`<${Notice}>This game has no positions.<//>`;
  const label = `Value over ${several(moves.length, "position")}, from ${rounded(values[0], unit)} to ${rounded(values[values.length - 1], unit)}.`;
  return html`<div class="play">
    <div class="stage">
      <${StillBoard} cells=${wordsOf(move.board)} shape=${info.shape} label=${`Board before move ${move.number}`} />
      <div class="bar-of-buttons">
        <${Button} icon="left" label="Position before" disabled=${at === 0} onClick=${() => step(-1)} />
        <${Button} icon="right" label="Next position" disabled=${at === moves.length - 1} onClick=${() => step(1)} />
        <${Button} icon="play" onClick=${() => go({ view: "play", board: move.board })}>Play from here<//>
      </div>
      <${Move} move=${move} luck=${lucks[at]} digits=${digits} unit=${unit} />
    </div>
    <div class="side">
      <section class="card" aria-label="Summary">
        <h2>${several(review.positions, "position")}, read as ${review.form === "positions" ? "a list" : `a ${review.form}`}</h2>
        <${Facts} items=${[
          ["Best slides", review.agreement === null ? "–" : `${percent(review.agreement)}, ${count(review.agreed)} of ${count(review.reviewed)}`],
          [`Mistakes (${MISTAKE})`, count(review.mistakes)],
          ["Mean loss", review.mean_loss_text ?? "–"],
          ["Total loss", review.total_loss_text],
          unit === "probability" && ["Luck of the spawns", changeText(luck, unit)],
          ["Longest run of best slides", count(review.longest_run)],
          review.unknown > 0 && ["Not in the table", count(review.unknown)],
        ]} />
        <${LineChart} values=${values} afters=${afters} marks=${review.drops.map((number) => number - 1)} current=${at} onPick=${setAt} unit=${unit} label=${label} />
        ${review.drops.length > 0 &&
        html`<h3>Largest losses</h3>
          <ol class="drops">${review.drops.slice(0, 5).map((number) => html`<${Drop} move=${moves[number - 1]} unit=${unit} onPick=${() => setAt(number - 1)} />`)}</ol>`}
      </section>
    </div>
    <section class="card review-result" aria-labelledby="moves">
      <div class="titles"><h2 id="moves">Moves</h2>
        <div class="bar-of-buttons"><${Toggle} checked=${only} onChange=${setOnly}>Only losses<//><${Toggle} checked=${digits} onChange=${setDigits}>All digits<//></div>
      </div>
      <p class="quiet">The value is that before the slide.${unit === "probability" ? " The loss is what the slide lost, luck is what the spawn after it changed." : ""}</p>
      <${Moves} moves=${moves} lucks=${lucks} at=${at} setAt=${setAt} only=${only} digits=${digits} unit=${unit} />
    </section>
  </div>`;
}

function Drop({ move, unit, onPick }) {
  return html`<li><button type="button" onClick=${onPick}>
    <b class=${move.mistake ? "" : "slight"}>${lessText(move.loss_text)}</b><span>Move ${move.number}: ${move.slide}, best was ${either(move.best)}</span>
  </button></li>`;
}

function Move({ move, luck, digits, unit }) {
  const lost = move.slide && move.loss !== null && !move.best.includes(move.slide);
  const words = !move.slide
    ? "The last position."
    : `${capital(move.slide)}${lost ? ` lost ${move.loss_text}. Best was ${either(move.best)}.` : move.best.length ? ", a best slide." : "."}`;
  const spawned = luck === null ? "" : ` The spawn changed it by ${changeText(luck, unit)}.`;
  return html`<div class="notice" role="status"><p><b>Move ${move.number}.</b> Value ${valueText(move.value, digits)}. ${words}${spawned}${move.problem ? ` ${capital(move.problem)}` : ""}</p></div>`;
}

function Moves({ moves, lucks, at, setAt, only, digits, unit }) {
  const rows = moves.filter((move) => !only || (move.slide && move.best.length && !move.best.includes(move.slide)));
  const lucky = unit === "probability";
  return html`<div class="scroll moves${digits ? " digits" : ""}" tabindex="0" role="region" aria-label="Moves of the game">
    <table>
      <thead><tr><th scope="col">Move</th><th scope="col" class="right">Value</th><th scope="col">Slide</th><th scope="col" class="right">Loss</th>${lucky && html`<th scope="col" class="right">Luck</th>`}</tr></thead>
      <tbody>
        ${rows.slice(0, MOST_ROWS).map((move) => {
          const best = move.best.includes(move.slide);
          return html`<tr key=${move.number} aria-current=${move.number === at + 1 ? "true" : undefined} onClick=${() => setAt(move.number - 1)}>
            <td><button type="button" class="link" onClick=${() => setAt(move.number - 1)}>${move.number}</button></td>
            <td class="right">${valueText(move.value, digits)}</td>
            <td>${move.slide || "–"}${best && html` <${Icon} name="check" /><span class="hidden"> best</span>`}
              ${!best && html` <span class="better">${move.problem ? "not in the table" : move.slide ? `best ${either(move.best)}` : ""}</span>`}</td>
            <td class="right">${move.loss > 0 && !best ? html`<span class=${move.mistake ? "loss-text" : ""}>${lessText(move.loss_text)}</span>` : ""}</td>
            ${lucky && html`<td class="right">${lucks[move.number - 1] === null ? "" : changeText(lucks[move.number - 1], unit)}</td>`}
          </tr>`;
        })}
      </tbody>
    </table>
    ${!rows.length && html`<p class="quiet">No slide lost anything.</p>`}
    ${rows.length > MOST_ROWS && html`<p class="quiet">The first ${count(MOST_ROWS)} of ${count(rows.length)} are shown.</p>`}
  </div>`;
}
