// Reviewing a written game: which slides lost how much.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./language.js";
import { post, useGet } from "./api.js";
import { StillBoard } from "./board.js";
import { LineChart } from "./chart.js";
import { largest } from "./course.js";
import { Button, Choice, Facts, Icon, Notice, Slides, SolvingProgress, Toggle, sentence, useKeys } from "./parts.js";
import { addNew, notesOfReview } from "./notebook.js";
import { shapeOf, wordsOf } from "./rules.js";
import { recall, remember, useSetting } from "./store.js";
import { MISTAKE, capital, changeText, count, either, gradeName, gradeOf, lessText, numberOf, percent, rounded, several, sizeOf, valueText } from "./text.js";

const PART = 200; // rows that are drawn on either side of the current one, and by each click for more

/**
 * What this tab keeps under a name, `initial` at first: it is shown again after another view or a reload.  The third of
 * the result is whether the browser took it: the storage of a tab has a few megabytes.
 */
function useKept(name, initial) {
  const [kept, setKept] = useState(() => recall(name, initial, "sessionStorage"));
  const [taken, setTaken] = useState(true);
  const keep = (next) => {
    const done = remember(name, next, "sessionStorage");
    if (!done) remember(name, initial, "sessionStorage"); // in place of what was reviewed before
    setTaken(done);
    setKept(next);
  };
  return [kept, keep, taken];
}

export function Review({ info, go, objective, digits, setDigits }) {
  const [kept, keep, taken] = useKept(`reviewed.${info.name}`, { files: [], file: 0 });
  const [at, goto] = useKept(`reviewed.${info.name}.at`, null);
  const { files, file } = kept;
  const game = files[file]?.game || "";
  const [text, setText] = useState(game);
  const [state, setState] = useState({ review: null, problem: null, busy: false });
  const [by, setBy] = useSetting("review.by", "all");
  const turn = useRef(0);
  const ask = async (game) => {
    const mine = ++turn.current;
    const id = String(Math.random());
    setState({ review: null, problem: null, busy: true, id });
    const asked = by === "all" ? { table: null, objective: null } : { table: info.name, objective: objective || null };
    const answer = await post("review", { ...asked, game, id }).then(
      (review) => ({ review, problem: null }),
      (error) => ({ review: null, problem: error.message }),
    );
    if (mine === turn.current) setState({ ...answer, busy: false });
  };
  const review = (next) => {
    keep(next);
    goto(null);
    setText(next.files[next.file].game);
    ask(next.files[next.file].game);
  };
  const only = (game) => ({ files: [{ name: "", game }], file: 0 });
  useEffect(() => {
    if (game) ask(game);
    return () => {
      turn.current += 1;
    };
  }, [objective, by]);
  const submit = (event) => {
    event.preventDefault();
    review(text === game ? kept : only(text));
  };
  const choose = async (event) => {
    const chosen = [...event.target.files];
    if (!chosen.length) return;
    const read = await Promise.all(chosen.map(async (file) => ({ name: file.name, game: await file.text() })));
    event.target.value = "";
    review({ files: read, file: 0 });
  };
  const current = recall(`game.${info.name}`, null, "sessionStorage");
  return html`<div class="review">
    <form class="card" onSubmit=${submit}><details open=${!state.review}><summary>The game</summary>
      <label class="field"><span>A game: saved by tilebase, a 2048verse replay, or a list of positions, one a line</span>
        <textarea rows="5" spellcheck=${false} value=${text} onInput=${(event) => setText(event.target.value)}></textarea>
      </label>
      <div class="bar-of-buttons">
        <button class="button main" disabled=${!text.trim() || state.busy}>Review</button>
        <label class="button file"><input type="file" multiple accept=".json,.txt,.csv,text/plain,application/json" onChange=${choose} /><span>Open files</span></label>
        ${current?.record?.moves?.length > 0 && html`<${Button} onClick=${() => review(only(JSON.stringify(current.record)))}>Review the game just played<//>`}
      </div>
      <${Choice} name="by" label="Judged by" value=${by} options=${[["all", "all tables here"], ["one", info.name]]} onChange=${setBy} /></details>
      ${files.length > 1 && html`<${Choice} name="file" label="File" value=${file} options=${files.map(({ name }, index) => [index, name])} onChange=${(other) => review({ files, file: other })} />`}
      ${!taken && html`<p class="quiet">This is too large for the storage of this browser: open it again after a reload.</p>`}
    </form>
    ${state.problem && html`<${Notice}>${state.problem}<//>`}
    ${state.busy && html`<${Reviewing} id=${state.id} />`}
    ${state.review && html`<${Result} review=${state.review} info=${info} objective=${objective} unit=${state.review.unit} go=${go} digits=${digits} setDigits=${setDigits} first=${at} keep=${goto} />`}
  </div>`;
}

/** How far a review is. */
function Reviewing({ id }) {
  const { data, again } = useGet("review", { id });
  useEffect(() => {
    const timer = setTimeout(again, 500);
    return () => clearTimeout(timer);
  }, [data]);
  return data?.progress ? html`<section class="card"><${SolvingProgress} table=${data} /></section>` : html`<p class="wait">Reviewing …</p>`;
}

const isBest = (move) => move.loss !== null && move.slides.every((slide) => move.best.includes(slide));

/** The value of a position as part of the course of the game; null if it is not known, or its slide is not judged. */
const plotted = (move) => (move.slides.length && move.loss === null ? null : numberOf(move.value));

/** What the spawn after each slide changed; null where it is not known, or where values are no probabilities. */
const lucksOf = (moves, unit) =>
  moves.map((move, index) => {
    const next = moves[index + 1] ? plotted(moves[index + 1]) : null;
    const after = numberOf(move.slide_value);
    const other = moves[index + 1]?.table !== move.table; // whose values are not compared
    return unit !== "probability" || other || move.loss === null || after === null || next === null ? null : next - after;
  });

/** Rows of {move} for the moves that are `wanted`, and of {from, to} for those between them. */
function rowsOf(moves, wanted) {
  const rows = [];
  for (const move of moves) {
    const last = rows[rows.length - 1];
    if (wanted(move)) rows.push({ move });
    else if (last?.to) last.to = move.number;
    else rows.push({ from: move.number, to: move.number });
  }
  return rows;
}

function Result({ review, info, objective, unit, go, digits, setDigits, first, keep }) {
  const { moves, drops } = review;
  const known = moves.findIndex((move) => move.value);
  const at = Math.min(first ?? (drops.length ? drops[0] - 1 : Math.max(0, known)), moves.length - 1);
  const [only, setOnly] = useState(false);
  const [said, say] = useState("");
  const note = () => addNew(notesOfReview(info, moves)).then((added) => say(`${several(added, "note")} added.`), (error) => say(error.message));
  const lucks = lucksOf(moves, unit);
  const move = moves[at];
  const step = (by) => keep(Math.max(0, Math.min(moves.length - 1, at + by)));
  const pick = (to) => {
    keep(to);
    document.querySelector(".stage").scrollIntoView({ block: "nearest" }); // the lists are far below it on a phone
  };
  const mistakes = moves.filter((move) => move.mistake).map((move) => move.number - 1);
  const next = mistakes.find((one) => one > at);
  const previous = mistakes.findLast((one) => one < at);
  useKeys((key) => {
    say("");
    const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
    const to = { n: next, p: previous }[key];
    if (by) step(by);
    else if (to !== undefined) keep(to);
    else if (key === "n" || key === "p") say(key === "n" ? "No mistake after this move." : "No mistake before this move.");
    return Boolean(by) || ["n", "p"].includes(key);
  });
  const heading = `${several(review.positions, "position")}, read as ${review.form === "positions" ? "a list" : `a ${review.form}`}`;
  return html`<div class="play">
    <div class="stage">
      <${StillBoard} cells=${wordsOf(move.board)} shape=${wordsOf(move.board).length === info.cells ? info.shape : shapeOf(move.board)} goals=${move.goal_cells} label=${`Board before move ${move.number}`} />
      <div class="bar-of-buttons">
        <${Button} icon="left" label="Position before" disabled=${at === 0} onClick=${() => step(-1)} />
        <${Button} icon="right" label="Next position" disabled=${at === moves.length - 1} onClick=${() => step(1)} />
        <${Button} icon="before" label="Previous mistake (P)" disabled=${previous === undefined} onClick=${() => keep(previous)}>Mistake<//>
        <${Button} icon="behind" kind="behind" label="Next mistake (N)" disabled=${next === undefined} onClick=${() => keep(next)}>Mistake<//>
        <${Button} icon="play" onClick=${() => go({ view: "play", board: move.board, table: move.table || info.name })}>Play from here<//>
      </div>
    </div>
    <div class="side">
      <${Move} move=${move} last=${at === moves.length - 1} luck=${lucks[at]} digits=${digits} unit=${unit} />
      ${move.value && html`<${Values} info=${info} go=${go} move=${move} objective=${move.table ? "" : objective} digits=${digits} unit=${unit} />`}
      <section class="card" aria-label="Summary">
        <h2>${heading}</h2>
        <${Endgames} review=${review} at=${at} onPick=${pick} />
        <div class="bar-of-buttons">${mistakes.length > 0 && html`<${Button} onClick=${note}>Put the mistakes into the notebook<//>`}<span class="said" role="status">${said}</span></div>
        ${known < 0
          ? html`<p>This table knows none of these positions. ${sentence(`of the last one: ${moves[moves.length - 1].problem}`)}</p>`
          : html`<${Summary} review=${review} at=${at} lucks=${lucks} unit=${unit} onPick=${pick} />`}
      </section>
    </div>
    ${known >= 0 &&
    html`<section class="card review-result" aria-labelledby="moves">
      <div class="titles"><h2 id="moves">Moves</h2>
        <div class="bar-of-buttons"><${Toggle} checked=${only} onChange=${setOnly}>Only losses<//><${Toggle} checked=${digits} onChange=${setDigits}>All digits<//></div>
      </div>
      <p class="quiet">The value is that before the slide.${unit === "probability" ? " The loss is what the slide lost, luck is what the spawn after it changed." : ""}</p>
      <${Moves} key=${only} moves=${moves} lucks=${lucks} at=${at} setAt=${pick} only=${only} digits=${digits} unit=${unit} />
    </section>`}
  </div>`;
}

/** The parts of the game that tables judge, as a strip; a click goes to the first position of one. */
function Endgames({ review, at, onPick }) {
  const { endgames, moves } = review;
  const judged = endgames.filter(({ table, first, last }) => table && moves.slice(first - 1, last).some((move) => move.loss !== null));
  if (!judged.length) return null;
  return html`<ul class="strip" aria-label="Endgames">
    ${judged.map(({ table, first, last }) => {
      const mistakes = moves.slice(first - 1, last).filter((move) => move.mistake).length;
      const now = at + 1 >= first && at + 1 <= last;
      return html`<li><button type="button" aria-current=${now ? "true" : undefined} onClick=${() => onPick(first - 1)}>
        <b>${table}</b> <span>${first === last ? `move ${count(first)}` : `moves ${count(first)} to ${count(last)}`}</span> <span class=${mistakes ? "loss-text" : "quiet"}>${several(mistakes, "mistake")}</span>
      </button></li>`;
    })}
  </ul>`;
}

/** The endgame at a position, or the next one, or the last: its chart is drawn. */
const endgameAt = ({ endgames }, at) => endgames.find(({ last }) => at + 1 <= last) || endgames[endgames.length - 1];

function Summary({ review, at, lucks, unit, onPick }) {
  const { moves } = review;
  const drops = largest(review.drops.map((number) => ({ move: moves[number - 1], total: moves[number - 1].loss })));
  const missing = moves.filter((move) => move.slides.length && !move.value).length;
  const judged = review.reviewed > 0 && [
    ["No mistake", `${percent(1 - review.mistakes / review.reviewed)}, ${count(review.reviewed - review.mistakes)} of ${count(review.reviewed)}`],
    [`Mistakes (${MISTAKE})`, count(review.mistakes)],
    ["Mean loss", review.mean_loss_text],
    ["Total loss", review.total_loss_text],
    unit === "probability" && ["Luck of the spawns", changeText(lucks.reduce((sum, one) => sum + (one || 0), 0), unit)],
    ["Longest run of best slides", count(review.longest_run)],
  ];
  const others = [
    missing > 0 && ["Not in the table", count(missing)],
    review.unknown > missing && ["Not judged", count(review.unknown - missing)],
  ];
  const part = endgameAt(review, at);
  const many = review.endgames.length > 1 && part.table;
  return html`${many && html`<h3>The whole game</h3>`}
    <${Facts} items=${[...(judged || []), ...others]} />
    ${many && judged && html`<h3>Endgame of ${part.table}</h3>`}
    ${judged ? html`<${Stretches} moves=${moves} part=${part} drops=${drops} at=${at} unit=${unit} onPick=${onPick} />` : html`<p>No slide of this game can be judged.</p>`}
    ${drops.length > 0 &&
    html`<h3>${many ? "Largest losses of the whole game" : "Largest losses"}</h3>
      <ol class="drops">${drops.map(({ move }) => html`<${Drop} move=${move} onPick=${() => onPick(move.number - 1)} />`)}</ol>`}`;
}

/** A chart of the stretches of the game that the table judges, one behind the other. */
function Stretches({ moves, part, drops, at, unit, onPick }) {
  const stretch = part.table ? moves.slice(part.first - 1, part.last) : moves;
  const rows = rowsOf(stretch, (move) => plotted(move) !== null);
  if (!rows.some((row) => row.move)) return html`<p class="quiet">No slide of this endgame can be judged.</p>`;
  if (rows[0].from) rows.shift();
  if (rows[rows.length - 1].from) rows.pop();
  const numbers = rows.map((row) => row.move?.number ?? row.from);
  const [first, last] = [rows[0].move, rows[rows.length - 1].move];
  const stretches = several(1 + rows.filter((row) => row.from).length, "stretch", "stretches");
  const cost = rows.some(({ move }) => move?.loss > 0 && numberOf(move.slide_value) > plotted(move)); // what slides lost is added
  const words = `Value from move ${count(first.number)} to move ${count(last.number)}, in ${stretches}: from ${rounded(numberOf(first.value), unit)} to ${rounded(numberOf(last.value), unit)}.`;
  return html`<${LineChart} values=${rows.map((row) => (row.move ? plotted(row.move) : null))}
    afters=${rows.map((row) => (row.move && row.move.loss !== null ? numberOf(row.move.slide_value) : null))}
    marks=${drops.map(({ move }) => numbers.indexOf(move.number)).filter((index) => index >= 0)} cost=${cost} current=${at < last.number ? numbers.findLastIndex((number) => number <= at + 1) : -1}
    onPick=${(index) => onPick(numbers[index] - 1)} unit=${unit} label=${words} left=${`Move ${count(first.number)}`} right=${`Move ${count(last.number)}`} />`;
}

function Drop({ move, onPick }) {
  return html`<li><button type="button" onClick=${onPick}>
    <b class=${move.mistake ? "" : "slight"}>${lessText(move.loss_text)}</b><span>Move ${count(move.number)}: ${either(move.slides)}, best was ${either(move.best)}</span>
  </button></li>`;
}

function Move({ move, last, luck, digits, unit }) {
  const made = capital(either(move.slides));
  const unknown = move.slides.length > 1 ? "" : made ? `${made}.` : last ? "The last position." : "The slide is not known.";
  const grade = gradeOf({ loss: move.loss, best: isBest(move) }, sizeOf(move.value));
  const words = [
    grade && grade !== "best" && `${gradeName(grade)}.`,
    move.value && `Value ${valueText(move.value, digits)}.`,
    move.loss === null ? unknown : isBest(move) ? `${made}, a best slide.` : `${made} lost ${move.loss_text}. Best was ${either(move.best)}.`,
    luck !== null && `The spawn changed it by ${changeText(luck, unit)}.`,
    move.problem && sentence(move.problem),
  ];
  return html`<div class=${`notice verdict ${grade || ""}`} role="status"><p><b>Move ${count(move.number)}.</b> ${words.filter(Boolean).join(" ")}</p></div>`;
}

/** The values of all slides of a position. */
function Values({ info, move, objective, digits, unit, go }) {
  const { data, busy } = useGet("probe", { table: move.table || info.name, board: move.board, objective });
  return html`<${Slides} info=${info} answer=${data} digits=${digits} unit=${unit} stale=${busy} onSlide=${(slide) => go({ view: "browse", table: move.table || info.name, board: move.board, slide })} chosen=${move.slides.length === 1 ? move.slides[0] : ""} />`;
}

/** What stands beside a slide that is not one of the best. */
function besideSlide(move, last) {
  if (!move.value) return "not in the table";
  if (!move.slides.length) return last ? "" : "not known";
  return move.loss === null ? "not judged" : `best ${either(move.best)}`;
}

function Moves({ moves, lucks, at, setAt, only, digits, unit }) {
  const rows = only ? moves.filter((move) => move.loss !== null && !isBest(move)).map((move) => ({ move })) : rowsOf(moves, (move) => move.value || move.number === at + 1);
  const box = useRef();
  const part = usePart(rows, at + 1);
  useLayoutEffect(() => {
    const row = box.current.querySelector("[aria-current]")?.getBoundingClientRect();
    const frame = box.current.getBoundingClientRect();
    if (row && (row.top < frame.top + 2 * row.height || row.bottom > frame.bottom)) box.current.scrollTop += row.top - (frame.top + frame.bottom) / 2;
  }, [at]);
  const lucky = unit === "probability";
  const columns = lucky ? 5 : 4;
  return html`<div ref=${box} class="scroll moves${digits ? " digits" : ""}" tabindex="0" role="region" aria-label="Moves of the game">
    ${part.begin > 0 && html`<${Button} onClick=${part.earlier}>${several(part.begin, "row")} before<//>`}
    <table>
      <thead><tr><th scope="col">Move</th><th scope="col" class="right">Value</th><th scope="col">Slide</th><th scope="col" class="right">Loss</th>${lucky && html`<th scope="col" class="right">Luck</th>`}</tr></thead>
      <tbody>
        ${rows.slice(part.begin, part.end).map(({ move, from, to }) =>
          move
            ? html`<${Row} key=${move.number} move=${move} current=${move.number === at + 1} last=${move.number === moves.length} luck=${lucky ? lucks[move.number - 1] : undefined} onPick=${() => setAt(move.number - 1)} digits=${digits} unit=${unit} />`
            : html`<tr key=${`from ${from}`} class="gap"><td colspan=${columns}>${from === to ? `Move ${count(from)} is` : `Moves ${count(from)} to ${count(to)} are`} not in the table</td></tr>`,
        )}
      </tbody>
    </table>
    ${part.end < rows.length && html`<${Button} onClick=${part.later}>${several(rows.length - part.end, "row")} after<//>`}
    ${!rows.length && html`<p class="quiet">No slide lost anything.</p>`}
  </div>`;
}

/** The part of many rows that is drawn: around the one with a number, and as far as one asked for. */
function usePart(rows, number) {
  const [, draw] = useState(0);
  const part = useRef([0, 0]);
  const index = Math.max(0, rows.findIndex((row) => row.move?.number === number));
  const [first, last] = part.current;
  if (index < first || index >= last) part.current = [index - PART, index + PART];
  const [begin, end] = part.current;
  const more = (before, behind) => () => {
    part.current = [begin - before, end + behind];
    draw((turn) => turn + 1);
  };
  return { begin: Math.max(0, begin), end: Math.min(rows.length, end), earlier: more(PART, 0), later: more(0, PART) };
}

function Row({ move, current, last, luck, onPick, digits, unit }) {
  const best = isBest(move);
  return html`<tr aria-current=${current ? "true" : undefined} onClick=${onPick}>
    <td><button type="button" class="link" onClick=${onPick}>${count(move.number)}</button></td>
    <td class="right">${valueText(move.value, digits)}</td>
    <td>${either(move.slides) || "–"} ${best ? html`<${Icon} name="check" /><span class="hidden"> best</span>` : html`<span class="better">${besideSlide(move, last)}</span>`}</td>
    <td class="right">${move.loss > 0 && !best ? html`<span class=${move.mistake ? "loss-text" : ""}>${lessText(move.loss_text)}</span>` : ""}</td>
    ${luck !== undefined && html`<td class="right">${luck === null ? "" : changeText(luck, unit)}</td>`}
  </tr>`;
}
