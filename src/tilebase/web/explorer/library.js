// The first screen: any board finds the tables that hold it, and the tables that players solve can be solved here.

import { html, t, useEffect, useRef, useState } from "./language.js";
import { post, useGet } from "./api.js";
import { MiniBoard } from "./board.js";
import { Button, Icon, Notice, SolvingProgress, sentence, turnedOf } from "./parts.js";
import { hrefOf } from "./route.js";
import { capital, either, tableName } from "./text.js";
import { shapeOf, wordsOf } from "./rules.js";

const EXAMPLE = "0,2,4,0\n2,16,8,4\n8,128,256,512\n1024,2048,4096,8192";

/** The cells of a formation's picture: large tiles as x, cells where the goal wins marked. */
function Picture({ picture, shape }) {
  if (!picture) return null;
  const marks = picture.replaceAll("/", "").split("");
  const sizes = shape.split("x").map(Number);
  const cells = marks.map((mark) => (mark === "x" ? "x" : mark === "#" ? "#" : "0"));
  return html`<${MiniBoard} cells=${cells} shape=${sizes} goals=${marks.flatMap((mark, cell) => (mark === "o" ? [cell] : []))} />`;
}

/** Call `act` when something changes, and not at first. */
function useChange(act, what) {
  const known = useRef(false);
  useEffect(() => {
    if (known.current) act();
    known.current = true;
  }, what);
}

/** What a table takes, and a button that solves it; or the command, where pages may not. */
function Offer({ table, token, solving, onSolve }) {
  const { name, state, problem, chance, time, disk, command } = table;
  return html`<li class="offer">
    <${Picture} ...${table} />
    <div>
      <strong>${tableName(name)}</strong>
      <p class="quiet">${[chance && `${chance} to win from its start`, time, disk].filter(Boolean).join(" · ")}</p>
      ${problem && html`<p class="loss-text">${sentence(`Not on this machine: ${problem}`)}</p>`}
    </div>
    ${state === "ready"
      ? html`<a class="button main" href=${hrefOf({ table: name, view: "play" })}>Open</a>`
      : state === "solving"
        ? html`<span class="quiet">being solved</span>`
        : problem || token === undefined // the library has not answered yet
          ? null
          : token
            ? html`<${Button} kind="main" disabled=${Boolean(solving)} onClick=${() => onSolve(name)}>${state === "begun" ? "Continue" : "Solve"}<//>`
            : html`<code>${command}</code>`}
  </li>`;
}

function Answer({ answer, go }) {
  const { table, game, board, value, best, meaning, notes } = answer;
  const open = (view) => (event) => {
    event.preventDefault();
    go({ table, board, view, objective: "" });
  };
  return html`<li class="offer">
    <${MiniBoard} cells=${wordsOf(board)} shape=${shapeOf(board)} />
    <div>
      <strong class="answer">${best.length ? html`<${Icon} name=${best[0]} /> ${capital(either(best))}` : "Nothing can be done"}</strong>
      <p>${value?.short} <span class="quiet">${meaning}, by ${tableName(table)}</span></p>
      <p class="quiet">${[turnedOf(answer), ...notes].filter(Boolean).map(sentence).join(" ")}</p>
    </div>
    <div class="bar-of-buttons">
      <a class="button" href=${hrefOf({ table, board, view: "train" })} title=${game} onClick=${open("train")}>Train</a>
      <a class="button main" href=${hrefOf({ table, board, view: "play" })} title=${game} onClick=${open("play")}>Play</a>
    </div>
  </li>`;
}

function Found({ board, ready, offer, go }) {
  const { data, problem, again } = useGet("answers", { board });
  useChange(again, [ready, offer.solving?.name]);
  if (problem) return html`<${Notice}>${problem}<//>`;
  if (!data) return html`<p class="wait">Looking …</p>`;
  const others = Object.entries(data.others);
  const fits = data.fits.filter((one) => one.state !== "ready" && !one.problem);
  const large = data.fits.filter((one) => one.problem);
  return html`<div class="found" role="status">
      ${data.answers.length > 0 && html`<ul>${data.answers.map((one) => html`<${Answer} answer=${one} go=${go} />`)}</ul>`}
      ${!data.answers.length && html`<p>${data.problem ? sentence(data.problem) : fits.length ? "No table here holds this board. These would:" : "No table that this machine can solve holds this board."}</p>`}
      ${data.answers.length > 0 && fits.length > 0 && html`<h3>Other tables that would hold it</h3>`}
      <ul>${fits.map((one) => html`<${Offer} table=${one} ...${offer} />`)}</ul>
      ${fits.length > 0 && offer.busy && html`<p class="quiet">${sentence(offer.busy)}</p>`}
      ${fits.some((one) => one.equal) && html`<p class="quiet">Two large tiles are equal. They can merge, which no table knows.</p>`}
    </div>
    ${large.length > 0 &&
    html`<details><summary>${large.length} more that this machine cannot solve</summary>
      <ul>${large.map((one) => html`<${Offer} table=${one} />`)}</ul>
    </details>`}
    ${others.length > 0 &&
    html`<details><summary>Why ${others.length === 1 ? "another table does" : `${others.length} other tables do`} not answer</summary>
      <dl class="why">${others.map(([name, why]) => html`<div><dt>${name}</dt><dd>${sentence(why)}</dd></div>`)}</dl>
    </details>`}`;
}

const LABELS = { ready: "solved", solving: "being solved", begun: "begun", failed: "stopped" };

/** One formation, or one small board, with its goals; the chosen goal says what it takes. */
function Family({ tables, offer }) {
  const [chosen, choose] = useState(null);
  const [first] = tables;
  const name = first.formation || first.shape;
  const table = tables.find((one) => one.name === chosen);
  const possible = tables.filter((one) => !one.problem || one.state === "ready");
  const solved = tables.filter((one) => one.state === "ready").map((one) => one.goal);
  const [least, most] = [possible[0]?.time, possible[possible.length - 1]?.time];
  const range = !possible.length ? "too large for this machine" : least === most ? least : `${least} to ${most}`;
  return html`<li><details class="family">
    <summary>
      <${Picture} ...${first} />
      <span><b>${name}</b><span class="quiet">${first.free} ${first.formation ? "free cells" : "cells"}, ${range}${solved.length > 0 && html`<em>solved to ${solved.join(", ")}</em>`}</span></span>
    </summary>
    <div class="goals" role="group" aria-label=${`Goals of ${name}`}>
      ${possible.map(
        (one) => html`<button type="button" class=${`goal-button${one.state === "ready" ? " ready" : ""}`} aria-pressed=${one.name === chosen} onClick=${() => choose(one.name === chosen ? null : one.name)}>
          <b>${one.goal}</b><small>${LABELS[one.state] || one.time}</small>
        </button>`,
      )}
    </div>
    ${possible.length < tables.length && html`<p class="quiet">${possible.length ? "Larger goals" : "All goals"} take more memory or time than this machine has: ${tables.filter((one) => !possible.includes(one)).map((one) => `${one.goal} ${one.problem}`).join(", ")}.</p>`}
    ${table && html`<ul><${Offer} table=${{ ...table, picture: null }} ...${offer} /></ul><p class="quiet">About ${table.positions} positions.</p>`}
  </details></li>`;
}

/** The seconds of the quickest table of a family; those with a solved one come first, those that are too large last. */
const rank = (tables) => (tables.some(({ state }) => state === "ready") ? -1 : Math.min(...tables.filter(({ problem }) => !problem).map(({ seconds }) => seconds)));

/** The tables of the list as families with one formation or shape. */
function familiesOf(tables) {
  const found = new Map();
  for (const one of tables) {
    const key = one.formation || one.shape;
    found.set(key, [...(found.get(key) || []), one]);
  }
  return [...found.values()].sort((one, other) => rank(one) - rank(other) || 0);
}

/** What a table takes of the library's disk, and how it is deleted. */
function Kept({ name, data, onDelete }) {
  const disk = data?.kept[name];
  return disk && html`<span class="quiet">${disk}</span>${data.token && html`<${Button} icon="close" kind="plain" label=${`Delete ${name}`} onClick=${() => onDelete(name)} />`}`;
}

function Solving({ table, onStop }) {
  return html`<section class="card" aria-label=${`Solving ${table.name}`}>
    <div class="titles tight"><h2>Solving ${tableName(table.name)}</h2>${onStop && html`<${Button} icon="pause" onClick=${onStop}>Stop<//>`}</div>
    <${SolvingProgress} table=${table} />
    <p class="quiet">What is finished is kept, also if you stop.</p>
  </section>`;
}

/** props: the list of tables, `again` to ask for it, the route and `go`. */
export function Library({ tables, again, route, go }) {
  const [text, setText] = useState("");
  const [said, say] = useState("");
  const [closed, close] = useState([]);
  const [part, setPart] = useState("");
  const ready = tables.filter((one) => one.state === "ready").map((one) => one.name).join(" ");
  const solving = tables.find((one) => one.state === "solving");
  const { data, problem, again: look } = useGet("library");
  useChange(look, [ready, solving?.name]);
  useEffect(() => setText(route.board.replaceAll("/", "\n")), [route.board]);
  const act = async (path, body) => {
    say("");
    try {
      await post(path, { ...body, token: data.token });
      again();
      look();
    } catch (error) {
      say(error.message);
    }
  };
  const find = (event) => {
    event.preventDefault();
    go({ board: text.trim().split(/\n+/).join("/") });
  };
  const offer = { token: data?.token, busy: data?.busy, solving, onSolve: (name) => act("solve", { name }) };
  const here = tables.filter((one) => one.state === "ready").map((one) => one.name);
  const begun = Object.keys(data?.kept || {}).filter((name) => !here.includes(name));
  const isNamed = (name) => name.toLowerCase().includes(part.trim().toLowerCase());
  const forget = (name) => confirm(t(`Delete ${name} from the disk?`)) && act("delete", { name });
  const problems = [...tables.filter((one) => one.state === "failed").map((one) => `${one.name}: ${one.problem}`), data?.failed];
  return html`<div class="library">
    <section class="card ask">
      <h1>Which slide is best?</h1>
      <form onSubmit=${find}>
        <label class="field"><span>Your board, row by row</span>
          <textarea rows="4" spellcheck=${false} placeholder=${EXAMPLE} value=${text} onInput=${(event) => setText(event.target.value)}></textarea>
        </label>
        <div class="bar-of-buttons">
          <button class="button main" disabled=${!text.trim()}>Find tables</button>
          <${Button} onClick=${() => setText(EXAMPLE)}>An example<//>
        </div>
      </form>
      ${said && html`<${Notice}>${said}<//>`}
      ${solving && html`<${Solving} table=${solving} onStop=${data?.token && (() => act("stop", {}))} />`}
      ${problems.filter((one) => one && !closed.includes(one)).map((one) => html`<${Notice} onClose=${() => close([...closed, one])}>${one}<//>`)}
      ${route.board && html`<${Found} key=${route.board} board=${route.board} ready=${ready} offer=${offer} go=${go} />`}
    </section>
    ${data && html`<label class="field inline"><span>Only tables named</span><input size="12" placeholder="442" value=${part} onInput=${(event) => setPart(event.target.value)} /></label>`}
    ${here.length > 0 &&
    html`<section aria-labelledby="here">
      <h2 id="here">Served here</h2>
      <ul class="here">${here.filter(isNamed).map((name) => html`<li><a class="button" href=${hrefOf({ table: name })}>${tableName(name)}</a><${Kept} name=${name} data=${data} onDelete=${forget} /></li>`)}</ul>
    </section>`}
    ${begun.length > 0 &&
    html`<section aria-labelledby="begun">
      <h2 id="begun">Begun</h2>
      <ul class="here">${begun.filter(isNamed).map((name) => html`<li>${data.token && html`<${Button} kind="main" disabled=${Boolean(solving)} onClick=${() => offer.onSolve(name)}>Continue<//>`} ${tableName(name)}<${Kept} name=${name} data=${data} onDelete=${forget} /></li>`)}</ul>
    </section>`}
    ${problem && html`<${Notice} again=${look}>${problem}<//>`}
    ${!data && !problem && html`<p class="wait">Loading …</p>`}
    ${data &&
    html`<section aria-labelledby="tables">
      <h2 id="tables">${data.token ? "Solve a table" : "Tables that can be solved"}</h2>
      <p class="quiet">${data.folder ? `Tables lie in ${data.folder}. ` : ""}A formation keeps large tiles on the hatched cells and makes the goal with the others, on a dashed cell if there are any. Times are for this machine if it does nothing else.</p>
      <ul class="families">${familiesOf(data.tables).filter((family) => family.some(({ name }) => isNamed(name))).map((family) => html`<${Family} key=${family[0].name} tables=${family} offer=${offer} />`)}</ul>
    </section>`}
  </div>`;
}
