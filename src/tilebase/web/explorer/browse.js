// Browsing: the afterstates of a state, the spawns on an afterstate, and the path that was taken.

import { html, useEffect } from "./language.js";
import { useGet } from "./api.js";
import { MiniBoard, StillBoard } from "./board.js";
import { Button, CopyLink, Facts, Headline, Icon, Notes, Notice, doubtOf } from "./parts.js";
import { boardText, sumName } from "./rules.js";
import { ENDS, capital, count, either, endText, lessText, numberOf, several, valueText } from "./text.js";
import { placeWord } from "./tiles.js";

const MOST_STEPS = 60;

/** The first board to browse, if the address has none. */
function useStart(info, route, go, objective) {
  const missing = !route.board;
  const { data, problem, again } = useGet(missing ? "start" : null, { table: info.name, seed: 1, by: "start", objective });
  useEffect(() => {
    if (missing && data) go({ board: data.board }, { replace: true });
  }, [missing, data]);
  return { problem, again };
}

export function Browse(props) {
  const { info, route, go, objective } = props;
  const start = useStart(info, route, go, objective);
  const ask = route.board ? "probe" : null;
  const { data: position, problem, busy, again } = useGet(ask, { table: info.name, board: route.board, objective });
  if (start.problem) return html`<${Notice} again=${start.again}>${start.problem}<//>`;
  if (problem) {
    return html`<${Notice} again=${again}>${problem}<//><p><${Button} onClick=${() => go({ board: "", slide: "" })}>Browse from the start<//></p>`;
  }
  if (!position) return html`<p class="wait">Loading …</p>`;
  const slide = position.slides.find((one) => one.direction === route.slide);
  return html`<div class="browse" aria-busy=${busy}>
    <${Path} ...${props} position=${position} />
    ${slide ? html`<${After} ...${props} position=${position} slide=${slide} />` : html`<${State} ...${props} position=${position} stale=${busy} />`}
  </div>`;
}

/** The way here: states as texts, slides and spawns between them.  Each step goes back there. */
function Path({ route, go, position }) {
  const steps = route.path;
  const back = (index) => go({ board: steps[index].board, slide: steps[index].slide, path: steps.slice(0, index) });
  return html`<nav class="path" aria-label="Path">
    <ol>
      ${steps.map((step, index) => html`<li><button type="button" class="link" title=${step.board} onClick=${() => back(index)}>${step.text}</button></li>`)}
      <li aria-current="page">${route.slide ? `${route.slide}, before the spawn` : steps.length ? steps[steps.length - 1].next || "here" : `sum ${position.sum}`}</li>
    </ol>
  </nav>`;
}

const further = (path, step) => [...path, step].slice(-MOST_STEPS);

function State({ info, route, go, digits, position, stale }) {
  const known = route.path[route.path.length - 1]?.next;
  const isBest = (slide) => slide.best && !doubtOf(position);
  const open = (slide) => go({
    board: position.board, slide: slide.direction,
    path: further(route.path, { board: position.board, slide: "", text: known || `sum ${position.sum}` }),
  });
  return html`<div class="play">
    <div class="stage">
      <${StillBoard} cells=${position.cells} shape=${info.shape} goals=${position.goal_cells} label="Board, the player to move" />
      <div class="bar-of-buttons">
        <${Button} icon="play" onClick=${() => go({ view: "play", board: position.board })}>Play from here<//>
        <${CopyLink} />
      </div>
    </div>
    <div class="side">
      <section class="card">
        ${position.value ? html`<${Headline} answer=${position} digits=${digits} stale=${stale} />` : html`<h2>${endText(position.state, position.refused) || "No value is known."}</h2>`}
        <${Facts} items=${[[sumName(info), count(position.sum)], ["Largest tile", count(position.largest)], ["Slides", position.slides.length]]} />
        <${Refused} refused=${position.refused} />
        <${Notes} answer=${position} />
      </section>
      ${position.slides.length > 0 && html`<h2>After each slide</h2>`}
      <ul class="boards two">
        ${position.slides.map(
          (slide) => html`<li><button type="button" class=${`tile-card${isBest(slide) ? " best" : ""}`} onClick=${() => open(slide)}>
            <${MiniBoard} cells=${slide.cells} shape=${info.shape} />
            <span class="name"><${Icon} name=${slide.direction} />${capital(slide.direction)}</span>
            <span class="number">${slide.value ? valueText(slide.value, digits) : "–"}</span>
            <span class="what">${isBest(slide) ? html`<${Icon} name="check" />best` : slide.loss ? lessText(slide.loss_text) : ""}${slide.ends ? ` ${slide.ends}` : ""}</span>
          </button></li>`,
        )}
      </ul>
    </div>
  </div>`;
}

/** The slides that would move tiles, but that the game does not allow. */
function Refused({ refused }) {
  const found = Object.entries(refused).filter(([, why]) => why !== "moves nothing");
  if (!found.length) return null;
  return html`<p class="quiet">${found.map(([direction, why]) => `${capital(direction)} ${why}.`).join(" ")}</p>`;
}

function After({ info, route, go, objective, digits, position, slide }) {
  const { data, problem, again } = useGet(slide.ends ? null : "spawns", { table: info.name, board: slide.board, objective });
  const open = (spawn) => go({
    board: spawn.board, slide: "",
    path: further(route.path, {
      board: position.board, slide: slide.direction, text: slide.direction,
      next: `${spawn.tile} in ${placeWord(spawn.cell, info.shape)}`,
    }),
  });
  return html`<div class="play">
    <div class="stage">
      <${StillBoard} cells=${slide.cells} shape=${info.shape} goals=${position.goal_cells} label=${`Board after the slide ${slide.direction}`} />
      <div class="bar-of-buttons">
        <${Button} icon="undo" onClick=${() => go({ board: boardText(position.cells, info.shape), slide: "", path: route.path.slice(0, -1) })}>Before the slide<//>
        <${CopyLink} />
      </div>
    </div>
    <div class="side">
      <section class="card">
        <div class="headline${digits ? " long" : ""}"><strong>${valueText(slide.value, digits)}</strong>
          <span>after ${slide.direction}${slide.best && !doubtOf(position) ? ", a best slide" : slide.loss ? `, which loses ${slide.loss_text}; best is ${either(position.best)}` : ""}</span></div>
        ${slide.ends && html`<p>${ENDS[slide.ends]}</p>`}
        ${slide.merges_large && html`<p>On the real board, this slide merges two large tiles; the table does not.</p>`}
      </section>
      ${problem && html`<${Notice} again=${again}>${problem}<//>`}
      ${data && html`<${Spawns} spawns=${data.spawns} cost=${position.cost} info=${info} digits=${digits} onOpen=${open} />`}
    </div>
  </div>`;
}

/** What sorts spawns, the worst first: values that are below a bound, or never, come before numbers, unknown ones last. */
function goodness(value, cost) {
  const number = numberOf(value);
  if (number === null) return value ? -Infinity : Infinity;
  return cost ? -number : number;
}

function Spawns({ spawns, cost, info, digits, onOpen }) {
  const sorted = [...spawns].sort((one, other) => goodness(one.value, cost) - goodness(other.value, cost));
  return html`<h2>${several(spawns.length, "spawn")}, the worst first</h2>
    <ul class="boards three">
      ${sorted.map(
        (spawn) => html`<li><button type="button" class="tile-card" onClick=${() => onOpen(spawn)}>
          <${MiniBoard} cells=${spawn.cells} shape=${info.shape} mark=${spawn.cell} />
          <span class="name">${spawn.tile}<span class="hidden"> in ${placeWord(spawn.cell, info.shape)}</span></span>
          <span class="number">${spawn.value ? valueText(spawn.value, digits) : spawn.state === "play" ? "–" : spawn.state}</span>
          <span class="what">${spawn.fraction}${spawn.worst ? " · worst" : ""}</span>
        </button></li>`,
      )}
    </ul>`;
}
