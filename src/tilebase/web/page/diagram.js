// The game as a diagram: states, slides with their values, probabilities.  Graphviz draws it in the browser.

import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { useGet } from "./api.js";
import { Button, Notice } from "./parts.js";
import { several } from "./text.js";

/** The diagram of a DOT text as an SVG element; Graphviz is loaded when it is first needed. */
async function draw(dot) {
  const { instance } = await import("./vendor/viz.js");
  return (await instance()).renderSVGElement(dot);
}

/** Make the states of a diagram lead to their boards: their names are `s` and the packed key. */
function link(svg, onBoard) {
  for (const node of svg.querySelectorAll("g.node")) {
    const key = /^s([0-9a-f]+)$/.exec(node.querySelector("title")?.textContent || "");
    if (!key) continue;
    node.classList.add("state");
    node.addEventListener("click", () => onBoard(`0x${key[1]}`));
  }
}

export function Diagram({ info, go, objective }) {
  const { data, problem, again } = useGet("graph", { table: info.name, objective });
  const [size, setSize] = useState(null);
  const [zoom, setZoom] = useState(1);
  const [broken, setBroken] = useState(null);
  const place = useRef();
  useEffect(() => {
    if (!data || !place.current) return undefined;
    let current = true;
    const show = (svg) => {
      if (!current) return;
      const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", `Diagram of ${info.game} with ${several(data.states, "state")}. Browse gives the same numbers as text.`);
      link(svg, (board) => go({ view: "browse", board }));
      place.current.replaceChildren(svg);
      setSize({ width: width * (4 / 3), height: height * (4 / 3) });
    };
    draw(data.dot).then(show, () => current && setBroken("The diagram cannot be drawn: Graphviz could not be loaded."));
    return () => {
      current = false;
    };
  }, [data]);
  useEffect(() => {
    const svg = place.current?.firstElementChild;
    if (!svg || !size) return;
    svg.setAttribute("width", size.width * zoom);
    svg.setAttribute("height", size.height * zoom);
  }, [size, zoom]);
  if (problem || broken) return html`<${Notice} again=${broken ? null : again}>${problem || broken}<//>`;
  if (!data) return html`<p class="wait">Loading …</p>`;
  const fit = () => size && setZoom(Math.min(1, place.current.clientWidth / size.width));
  return html`<div class="diagram">
    <div class="bar-of-buttons">
      <${Button} label="Smaller" onClick=${() => setZoom(zoom / 1.4)}>−<//>
      <${Button} label="Larger" onClick=${() => setZoom(zoom * 1.4)}>+<//>
      <${Button} onClick=${fit}>Whole width<//>
      <p class="quiet">Thick lines are best slides. Click a board to browse it.</p>
    </div>
    ${!size && html`<p class="wait">Drawing ${several(data.states, "state")} …</p>`}
    <div class="scroll paper" ref=${place} tabindex="0" role="region" aria-label="Diagram"></div>
  </div>`;
}
