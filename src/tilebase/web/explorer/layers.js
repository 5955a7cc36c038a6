// The layers of a table: how many positions each sum has, and how their values spread.

import { html, useState } from "./language.js";
import { useGet } from "./api.js";
import { BarChart } from "./chart.js";
import { Facts, Notice } from "./parts.js";
import { count, rounded, several, short } from "./text.js";

export function Layers({ info, route, go, objective, unit }) {
  const { data, problem, again } = useGet("layers", { table: info.name });
  if (problem) return html`<${Notice} again=${again}>${problem}<//>`;
  if (!data) return html`<p class="wait">Counting …</p>`;
  const layers = data.layers.filter((layer) => layer.positions > 0);
  if (!layers.length) return html`<${Notice}>This table has no layers.<//>`;
  const largest = layers.reduce((one, other) => (other.positions > one.positions ? other : one));
  const found = layers.findIndex((layer) => String(layer.sum) === route.sum);
  const at = found < 0 ? layers.indexOf(largest) : found;
  const total = layers.reduce((sum, layer) => sum + layer.positions, 0);
  const step = layers.length > 1 ? Math.min(...layers.slice(1).map((layer, index) => layer.sum - layers[index].sum)) : 2;
  const bars = layers.map(({ sum, positions }) => ({ from: sum, to: sum + step, count: positions }));
  const pick = (index) => go({ sum: String(layers[index].sum) }, { replace: true });
  const label = `Positions by sum, logarithmic: from sum ${layers[0].sum} to ${layers[layers.length - 1].sum}; most, ${count(largest.positions)}, at sum ${largest.sum}.`;
  return html`<div class="layers">
    <section class="card" aria-labelledby="sums">
      <h2 id="sums">Positions by the sum of their tiles${info.unmergeable ? " without large tiles" : ""}</h2>
      <${Facts} items=${[[`Positions after a slide${info.space === "all" ? "" : ", up to symmetry"}`, count(total)], ["Layers", count(layers.length)], ["Largest layer", `sum ${largest.sum}, ${count(largest.positions)}`]]} />
      <${BarChart} bars=${bars} log=${true} current=${at} onPick=${pick} label=${label} right=${count(layers[layers.length - 1].sum)} />
      <label class="field wide"><span>Sum ${layers[at].sum}: ${several(layers[at].positions, "position")}</span>
        <input type="range" min="0" max=${layers.length - 1} value=${at} aria-valuetext=${`sum ${layers[at].sum}`} onInput=${(event) => pick(+event.target.value)} />
      </label>
      <${Numbers} name="Numbers of all layers" heads=${["Sum", "Positions"]} rows=${() => layers.map((layer) => [layer.sum, count(layer.positions)])} />
    </section>
    <${Layer} info=${info} sum=${layers[at].sum} objective=${objective} unit=${unit} />
  </div>`;
}

function Layer({ info, sum, objective, unit }) {
  const { data, problem, again } = useGet(`layers/${sum}`, { table: info.name, objective });
  if (problem) return html`<${Notice} again=${again}>${problem}<//>`;
  if (!data) return html`<p class="wait">Reading values …</p>`;
  const { edges, counts } = data.histogram;
  const bars = counts.map((number, index) => ({ from: edges[index], to: edges[index + 1], count: number }));
  const ends = [short(edges[0], unit), short(edges[edges.length - 1], unit)];
  const most = counts.indexOf(Math.max(...counts));
  const range = (index) => `${short(edges[index], unit)} to ${short(edges[index + 1], unit)}`;
  const part = data.read < data.positions ? `, from ${count(data.read)} of them` : "";
  return html`<div class="pair">
    <section class="card" aria-labelledby="values">
      <h2 id="values">Values at sum ${data.sum}${part}</h2>
      ${data.read
        ? html`<${BarChart} bars=${bars} label=${`How many positions have which value, from ${ends[0]} to ${ends[1]}; most from ${range(most)}.`} left=${ends[0]} right=${ends[1]} />
          <${Numbers} name="Numbers" heads=${["Value", "Positions"]} rows=${() => counts.map((number, index) => [range(index), count(number)])} />`
        : html`<p class="quiet">No values are stored for this sum.</p>`}
    </section>
    ${data.by_largest.length > 0 &&
    html`<section class="card" aria-labelledby="largest">
      <h2 id="largest">By the largest tile</h2>
      <${OffGoal} info=${info} rows=${data.by_largest} />
      <${Table} heads=${["Tile", "Positions", "Mean value"]} rows=${data.by_largest.map((one) => [count(one.tile), count(one.positions), rounded(one.mean, unit === "yes-no" ? "probability" : unit)])} />
    </section>`}
  </div>`;
}

/** Why positions that hold the goal tile are not won: it does not stand on a goal cell. */
function OffGoal({ info, rows }) {
  const goal = Math.min(...info.goal_cells.map(({ tile }) => tile));
  if (!rows.some(({ tile }) => tile >= goal)) return null;
  return html`<p class="quiet">The tile ${goal} wins only on a goal cell, which boards show dashed. In these positions it stands elsewhere.</p>`;
}

const Table = ({ heads, rows }) => html`<table>
  <thead><tr>${heads.map((head, index) => html`<th scope="col" class=${index ? "right" : ""}>${head}</th>`)}</tr></thead>
  <tbody>${rows.map((row) => html`<tr>${row.map((word, index) => html`<td class=${index ? "right" : ""}>${word}</td>`)}</tr>`)}</tbody>
</table>`;

/** A chart's numbers as a table, made when it is opened. */
function Numbers({ name, heads, rows }) {
  const [open, setOpen] = useState(false);
  return html`<details onToggle=${(event) => setOpen(event.target.open)}>
    <summary>${name}</summary>
    ${open && html`<div class="scroll numbers" tabindex="0" role="region" aria-label=${name}><${Table} heads=${heads} rows=${rows()} /></div>`}
  </details>`;
}
