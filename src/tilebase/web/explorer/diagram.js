// A diagram that the server draws: the whole of a small game with states, slides, values and probabilities; of a
// larger one, the surroundings of a board: its slides, the spawns after each, and their values.

import { html, t, useEffect, useRef, useState } from "./language.js";
import { useGet } from "./api.js";
import { Button, Notice } from "./parts.js";
import { several } from "./text.js";

/** Make the boards of a diagram lead elsewhere: nodes by `boards[name]`, and links to `#` and a board. */
function link(svg, boards, onBoard) {
  for (const node of svg.querySelectorAll("g.node")) {
    const board = boards[node.querySelector("title")?.textContent];
    if (!board) continue;
    node.classList.add("state");
    node.addEventListener("click", () => onBoard(board));
  }
  for (const anchor of svg.querySelectorAll("a")) {
    const board = decodeURIComponent(anchor.getAttribute("href").slice(1));
    anchor.classList.add("state");
    anchor.addEventListener("click", (event) => {
      event.preventDefault();
      onBoard(board);
    });
  }
}

const ABOUT = {
  whole: "Thick lines are best slides. Click a board to browse it.",
  part: "The slides of a board, and the spawns after each. Thick lines are best slides. Click a board to see its surroundings.",
};

export function Diagram({ info, route, go, objective }) {
  const { data, problem, again } = useGet("graph", { table: info.name, objective, board: route.board });
  const [size, setSize] = useState(null);
  const [zoom, setZoom] = useState(1);
  const place = useRef();
  const boards = Object.keys(data?.boards || {}).length;
  useEffect(() => {
    if (!data || !place.current) return;
    const svg = new DOMParser().parseFromString(data.svg, "image/svg+xml").documentElement;
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const what = data.whole ? `${info.game} with ${several(boards, "state")}` : `the surroundings of ${data.board}`;
    svg.setAttribute("role", data.whole ? "img" : "group"); // links inside an image are not read out
    svg.setAttribute("aria-label", t(`Diagram of ${what}. Browse gives the same numbers as text.`));
    link(svg, data.boards, (board) => go(data.whole ? { view: "browse", board } : { board }));
    for (const title of svg.querySelectorAll(":scope > title, g.node > title")) title.remove(); // names
    for (const text of svg.querySelectorAll("text")) text.textContent = t(text.textContent).replace(/向(?=[左右上下前后])/g, ""); // lines leave little space
    place.current.replaceChildren(svg);
    setSize({ width, height });
  }, [data]);
  useEffect(() => {
    const svg = place.current?.firstElementChild;
    if (!svg || !size) return;
    svg.setAttribute("width", size.width * zoom);
    svg.setAttribute("height", size.height * zoom);
    const paper = place.current;
    if (!data?.whole) paper.scrollTop = (paper.scrollHeight - paper.clientHeight) / 2; // where the board itself is
  }, [size, zoom]);
  if (problem) return html`<${Notice} again=${again}>${problem}<//>${route.board && html`<p><${Button} onClick=${() => go({ board: "" })}>Begin with a start<//></p>`}`;
  if (!data) return html`<p class="wait">Loading …</p>`;
  const fit = () => size && setZoom(Math.min(1, place.current.clientWidth / size.width));
  return html`<div class="diagram">
    <div class="bar-of-buttons">
      <${Button} label="Smaller" onClick=${() => setZoom(zoom / 1.4)}>−<//>
      <${Button} label="Larger" onClick=${() => setZoom(zoom * 1.4)}>+<//>
      <${Button} onClick=${fit}>Whole width<//>
      ${!data.whole && html`<${Button} onClick=${() => go({ view: "browse", board: data.board })}>Browse this board<//>`}
    </div>
    <p class="quiet">${data.whole ? ABOUT.whole : ABOUT.part}</p>
    ${!size && html`<p class="wait">Drawing …</p>`}
    <div class="scroll paper" ref=${place} tabindex="0" role="region" aria-label="Diagram"></div>
  </div>`;
}
