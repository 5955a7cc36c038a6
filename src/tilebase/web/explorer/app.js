// The page: which table and which view, from its address and back into it.

import { html, render, useEffect, useState } from "./language.js";
import { askEarly, useGet } from "./api.js";
import { Help } from "./help.js";
import { Looks, Notice, SolvingProgress, ViewLinks, useKeys } from "./parts.js";
import { Play } from "./play.js";
import { hrefOf, readRoute, useRoute } from "./route.js";
import { useSetting } from "./store.js";
import { tableName } from "./text.js";

const VIEWS = {
  play: { name: "Play", load: async () => Play },
  train: { name: "Train", load: async () => (await import("./trainer.js")).Trainer },
  review: { name: "Review", load: async () => (await import("./review.js")).Review },
  browse: { name: "Browse", load: async () => (await import("./browse.js")).Browse },
  layers: { name: "Layers", load: async () => (await import("./layers.js")).Layers },
  diagram: { name: "Diagram", load: async () => (await import("./diagram.js")).Diagram },
  certificate: { name: "Certificate", load: async () => (await import("./certificate.js")).Certificate },
  library: { load: async () => (await import("./library.js")).Library }, // the first screen, where boards are looked up and games solved
};

const VIEWS_OF = {
  table: ["play", "train", "review", "browse", "layers", "diagram"],
  "winning set": ["play", "train", "browse", "diagram"],
  certificate: ["certificate"],
};
const viewsOf = ({ kind }) => VIEWS_OF[kind] || VIEWS_OF.table;

/** The view of a table that a route names, else the first. */
const viewOf = (table, route) => viewsOf(table).find((view) => view === route.view) || viewsOf(table)[0];

// -- tables -------------------------------------------------------------------------------------

/** The list of tables; it is asked for again each second while one is being solved, and when the page is seen again. */
function useTables() {
  const found = useGet("tables");
  const solving = found.data?.tables.some((table) => table.state === "solving");
  useEffect(() => {
    if (!solving) return undefined;
    const timer = setTimeout(found.again, 1000);
    return () => clearTimeout(timer);
  }, [found.data, solving]);
  useEffect(() => {
    const seen = () => document.visibilityState === "visible" && found.again();
    document.addEventListener("visibilitychange", seen);
    return () => document.removeEventListener("visibilitychange", seen);
  }, [found.again]);
  return found;
}

const STATES = { solving: " (being solved)", failed: " (cannot be read)" };

function Header({ tables, table, route, go, onHelp }) {
  const pick = (event) => go({ table: event.target.value, board: route.table ? "" : route.board, objective: "", slide: "", sum: "", view: "" });
  return html`<header>
    <a class="logo" href="?" aria-label="tilebase, first page">
      <svg viewBox="0 0 32 32" aria-hidden="true"><rect width="15" height="15" rx="4" /><rect x="17" width="15" height="15" rx="4" /><rect y="17" width="15" height="15" rx="4" /><rect x="17" y="17" width="15" height="15" rx="4" /></svg>
      <span>tilebase</span>
    </a>
    ${tables.length > 0 &&
    html`<label class="pick"><span class="hidden">Table</span>
      <select value=${table?.name || ""} onChange=${pick}>
        ${!table && html`<option value="">Choose a table …</option>`}
        ${tables.map((one) => html`<option value=${one.name} selected=${one.name === table?.name}>${tableName(one.name)}${STATES[one.state] || ""}</option>`)}
      </select>
    </label>`}
    <div class="corner">
      <${Looks} />
      <button type="button" class="button plain" aria-label="Help (?)" title="Help (?)" onClick=${onHelp}>?</button>
    </div>
    ${table?.state === "ready" && html`<${Views} table=${table} route=${route} go=${go} />`}
  </header>`;
}

function Views({ table, route, go }) {
  const keep = { table: table.name, objective: route.objective, board: route.board };
  const names = viewsOf(table).map((view) => [view, VIEWS[view].name]);
  return html`<${ViewLinks} names=${names} current=${viewOf(table, route)} href=${(view) => hrefOf({ ...keep, view })} onView=${(view) => go({ table: table.name, view, slide: "", sum: "" })} />`;
}

// -- the chosen table ---------------------------------------------------------------------------

function Solving({ table }) {
  return html`<section class="card solving">
    <h1>Solving ${table.game}</h1>
    <${SolvingProgress} table=${table} />
    <p class="quiet">You can leave this page open: it shows the table as soon as it is solved.</p>
  </section>`;
}

/** The component of a view, loaded when it is first shown. */
function useView(view) {
  const [loaded, setLoaded] = useState({});
  useEffect(() => {
    if (!view) return undefined;
    let current = true;
    VIEWS[view].load().then(
      (component) => current && setLoaded({ view, component }),
      () => current && setLoaded({ view, problem: "This part of the page cannot be loaded: the server does not answer." }),
    );
    return () => {
      current = false;
    };
  }, [view]);
  return loaded.view === view ? loaded : {};
}

/** The heading.  A game with many rules is named by its formation, or by the first rules; all can be opened. */
function Title({ view, info }) {
  const { game, rules, formation, named } = info;
  const [name, first] = game.split(", ");
  const whole = game.length < 60;
  const short = whole ? game : `${name}, ${formation ? "with large tiles" : `${first}, …`}`;
  if (view === VIEWS.review.name) return html`<h1>${view}</h1>`; // of all tables
  if (whole && !named) return html`<h1>${view} <span>${short}</span></h1>`;
  const goal = Math.min(...info.goal_cells.map(({ tile }) => tile));
  return html`<div>
    <h1>${view} <span>${short}</span></h1>
    <details class="rules"><summary>${info.goal_cells.length ? `${goal} wins on a dashed cell. All rules` : "All rules"}</summary><ul>${rules.map((rule) => html`<li>${rule}</li>`)}</ul></details>
  </div>`;
}

/** The objectives of a table.  With both bounds, the first is the interval between them, which has no label. */
function objectivesOf({ objectives }) {
  const both = ["lower", "upper"].every((label) => objectives.some((one) => one.label.split(":")[0] === label));
  return both ? [{ label: "", text: "both bounds", unit: "probability" }, ...objectives] : objectives;
}

function Objectives({ objectives, objective, go }) {
  if (objectives.length < 2) return null;
  return html`<label class="field inline"><span>Value</span>
    <select value=${objective} onChange=${(event) => go({ objective: event.target.value })}>
      ${objectives.map((one) => html`<option value=${one.label} selected=${one.label === objective}>${one.text}</option>`)}
    </select>
  </label>`;
}

function Table({ table, route, go }) {
  const { data: info, problem, again } = useGet(`tables/${encodeURIComponent(table.name)}`);
  const [digits, setDigits] = useSetting("digits", false);
  const view = viewOf(table, route);
  const { component: View, problem: broken } = useView(view);
  if (problem || broken) return html`<${Notice} again=${again}>${problem || broken}<//>`;
  if (!info || !View) return html`<p class="wait">Loading …</p>`;
  const objectives = objectivesOf(info);
  const objective = route.objective || objectives[0].label;
  const chosen = objectives.find((one) => one.label === objective);
  if (!chosen) {
    const labels = info.objectives.map((one) => one.label).join(", ");
    return html`<${Notice}>This table has no values of ${objective}: it has ${labels}.<//>`;
  }
  return html`<div class="titles">
      <${Title} view=${VIEWS[view].name} info=${info} />
      <${Objectives} objectives=${objectives} objective=${objective} go=${go} />
    </div>
    <${View} key=${table.name} info=${info} route=${route} go=${go} objective=${objective} unit=${chosen.unit} digits=${digits} setDigits=${setDigits} />`;
}

function Main({ tables, table, route, go, again }) {
  const { component: Library, problem } = useView(!table && !route.table ? "library" : null);
  if (problem) return html`<${Notice}>${problem}<//>`;
  if (!table && !route.table) return Library ? html`<${Library} tables=${tables} again=${again} route=${route} go=${go} />` : html`<p class="wait">Loading …</p>`;
  if (!table) {
    const others = tables.length ? `These are served: ${tables.map((one) => one.name).join(", ")}.` : "No table is served.";
    return html`<${Notice}>There is no table ${route.table} here. ${others} <a href="?">The first page</a> says which can be solved.<//>`;
  }
  if (table.state === "solving") return html`<${Solving} table=${table} />`;
  if (table.state === "failed") return html`<${Notice}>${table.problem}<//>`;
  return html`<${Table} key=${table.name} table=${table} route=${route} go=${go} />`;
}

function App() {
  const [route, go] = useRoute();
  const { data, problem, again } = useTables();
  const [help, setHelp] = useState(false);
  useKeys((key) => key === "?" && (setHelp(true), true));
  const tables = data?.tables || [];
  // One table that was named on the command line is shown at once.
  const only = data && !data.library && tables.length === 1 ? tables[0] : undefined;
  const table = route.table ? tables.find((one) => one.name === route.table) : only;
  useEffect(() => {
    document.title = table ? `${table.name} · tilebase` : "tilebase";
  }, [table?.name]);
  return html`<a class="skip" href="#main">Skip to the board</a>
    <${Header} tables=${tables} table=${table} route=${route} go=${go} onHelp=${() => setHelp(true)} />
    <main id="main" tabindex="-1">
      ${problem ? html`<${Notice} again=${again}>${problem}<//>` : data ? html`<${Main} tables=${tables} table=${table} route=${route} go=${go} again=${again} />` : html`<p class="wait">Loading …</p>`}
    </main>
    <footer><p>Exact values by tilebase ${data?.version || ""}</p><a href="api/openapi.json">API</a></footer>
    <${Help} open=${help} onClose=${() => setHelp(false)} />`;
}

askEarly("tables");
if (readRoute().table) askEarly(`tables/${encodeURIComponent(readRoute().table)}`);
render(html`<${App} />`, document.getElementById("app"));
