// The page that plays a packed policy: a board, the best slides of each position, and autoplay.

import { html, render, useEffect, useRef, useState } from "../explorer/vendor/htm-preact.js";
import { Board } from "../explorer/board.js";
import { Button, Icon, Live, Notice, directionOf, useKeys } from "../explorer/parts.js";
import { boardText, randomSpawn, tokensOf, withSpawn } from "../explorer/rules.js";
import { useSetting } from "../explorer/store.js";
import { ENDS, about, capital, count, either } from "../explorer/text.js";
import { boardWords, placeWord } from "../explorer/tiles.js";
import { BoardError, Rules } from "./moves.js";
import { Policy, PolicyError } from "./policy.js";

const SPEEDS = [1, 2, 4, 8, 15, 30, 60]; // slides a second

const sentence = (error) => {
  if (error instanceof PolicyError || error instanceof BoardError) return error.message;
  throw error;
};

/** How many of some games come to a position, in words: "about 1 in 120 comes". */
function come(share) {
  if (share > 0.2) return `about ${Math.round(100 * share)} % come`;
  const games = 1 / share;
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(games)) - 1);
  return `about 1 in ${count(Math.round(games / unit) * unit)} comes`;
}

/** A size: ``640 kB``, ``12 MB``. */
const sizeText = (bytes) => (bytes < 2e6 ? `${count(Math.ceil(bytes / 1e3))} kB` : `${count(Math.round(bytes / 1e6))} MB`);

// -- the game -----------------------------------------------------------------------------------

/** A position of the game: the state, how it came about, and how the game stands. */
const entryOf = (rules, cells, before = {}) => ({ cells, tokens: tokensOf(cells), ghosts: [], end: rules.end(cells), ...before });

/** The first position of a board that was read: its x show their tiles, which tokens keep. */
function entryRead(rules, { cells, large }) {
  const entry = entryOf(rules, cells);
  const labels = new Map(large ? entry.tokens.filter(({ word }) => word === "x").map(({ id, cell }) => [id, large[cell]]) : []);
  return { ...entry, labels };
}

/** What a slide and a random spawn make of a position. */
function follow(rules, slide, random, labels) {
  const { direction, tokens, ghosts, cells, end } = slide;
  if (end) return { cells, tokens, ghosts, end, direction, labels };
  const spawn = randomSpawn(cells, rules.spawns, random);
  const after = withSpawn(cells, spawn);
  const [tile] = tokensOf(after.map((word, cell) => (cell === spawn.cell ? word : "0")));
  return { cells: after, tokens: [...tokens, { ...tile, spawned: true }], ghosts, end: rules.end(after), direction, spawn, labels };
}

/**
 * The game so far: `at` is the position that is shown, `before` and `next` are the games before and after it.  Undo at
 * the start of a game leads to the one before.
 */
function useGame(rules, random) {
  const fresh = () => ({ entries: [entryOf(rules, rules.begin(random))], at: 0, before: null, next: null });
  const [game, setGame] = useState(fresh);
  const now = game.entries[game.at];
  const slides = now.end ? [] : rules.slides(now.tokens, now.cells);
  const slide = (direction) => {
    const chosen = slides.find((one) => one.direction === direction);
    if (!chosen) return false;
    setGame({ ...game, entries: [...game.entries.slice(0, game.at + 1), follow(rules, chosen, random, now.labels)], at: game.at + 1 });
    return true;
  };
  const last = game.at + 1 === game.entries.length;
  const undo = () => {
    if (game.at > 0) setGame({ ...game, at: game.at - 1 });
    else if (game.before) setGame({ ...game.before, next: { ...game, before: null } });
  };
  const redo = () => {
    if (!last) setGame({ ...game, at: game.at + 1 });
    else if (game.next) setGame({ ...game.next, before: { ...game, next: null } });
  };
  const begin = (one) => setGame({ ...one, before: { ...game, next: null } });
  return {
    now, slides, slide, undo, redo, at: game.at,
    canUndo: game.at > 0 || game.before !== null,
    canRedo: !last || game.next !== null,
    restart: () => begin(fresh()),
    begin: (read) => begin({ entries: [entryRead(rules, read)], at: 0, next: null }),
  };
}

/** What the policy says of the shown position: {entry, found} or {entry, problem}; stale for another entry. */
function useAdvice(policy, rules, entry, turn) {
  const [advice, setAdvice] = useState({});
  useEffect(() => {
    if (entry.end) return undefined;
    let current = true;
    policy.look(rules.codes(entry.cells), rules.sum(entry.cells)).then(
      (found) => current && setAdvice({ entry, found }),
      (error) => current && setAdvice({ entry, problem: sentence(error) }),
    );
    return () => {
      current = false;
    };
  }, [entry, turn]);
  return advice.entry === entry ? advice : {};
}

/** The percent of the policy that are here, while a host that sends no parts of files sends all of it; else null. */
function useLoading({ file }) {
  const [percent, setPercent] = useState(null);
  useEffect(() => {
    file.tell = (share) => setPercent(share === null ? null : Math.floor(100 * share));
  }, [file]);
  return percent;
}

/** Slide by itself while `on`, each of the best slides with the same probability, and say why it stops. */
function useAutoplay(on, stop, speed, game, advice, random) {
  useEffect(() => {
    if (!on) return undefined;
    if (game.now.end || advice.problem) stop("");
    else if (advice.found === null) stop("Autoplay stopped here. ");
    else if (advice.found) {
      const { best } = advice.found;
      const timer = setTimeout(() => game.slide(best[Math.floor(random() * best.length)]), 1000 / speed);
      return () => clearTimeout(timer);
    }
    return undefined;
  }, [on, speed, game.now, advice.found, advice.problem]);
}

// -- pieces -------------------------------------------------------------------------------------

const NEXT = { auto: "light", light: "dark", dark: "auto" };

function useTheme() {
  const [theme, setTheme] = useSetting("theme", "auto");
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }, [theme]);
  const label = `Colours: ${theme}. Change to ${NEXT[theme]}.`;
  return html`<${Button} icon="theme" kind="plain" label=${label} onClick=${() => setTheme(NEXT[theme])} />`;
}

/** The slides as buttons, the best ones marked. */
function Slides({ directions, slides, best, refusal, onSlide }) {
  const allowed = new Set(slides.map((slide) => slide.direction));
  return html`<ul class="slides" aria-label="Slides">
    ${directions.map((direction) => {
      const is = best?.includes(direction) ? "best" : allowed.has(direction) ? "" : refusal(direction);
      return html`<li key=${direction}>
        <button type="button" class=${`slide ${is === "best" ? "best" : ""}`} aria-disabled=${!allowed.has(direction)} onClick=${() => onSlide(direction)}>
          <${Icon} name=${direction} />
          <span class="name">${capital(direction)}</span>
          <span class="loss">${is === "best" && html`<${Icon} name="check" />`}${is}</span>
        </button>
      </li>`;
    })}
  </ul>`;
}

/** Why the best slide of a position is not known. */
function unknownWords(thinned) {
  if (!thinned) return "This position is not on the page: no game from the start comes to it. You can play on by hand.";
  return "This position is not on the page, which holds those that well played games visit. You can play on by hand: the best slide is marked again as soon as it is known.";
}

/** The headline: the best slide, its value if it is known, or why no slide is. */
function Advice({ header, advice, percent, end, stopped, again }) {
  if (end) return html`<div class=${`notice end ${end}`} role="note"><p>${ENDS[end]}</p></div>`;
  if (advice.problem) return html`<${Notice} again=${again}>${advice.problem}<//>`;
  if (advice.found === null) return html`<div class="notice" role="note"><p>${stopped}${unknownWords(header.thinned)}</p></div>`;
  if (!advice.found && percent !== null) {
    return html`<div class="loading">
      <p>Loading the policy once, since this host sends no parts of files: ${percent} % of ${sizeText(header.policy.bytes)}</p>
      <progress max="100" value=${percent} aria-label="Loading the policy"></progress>
    </div>`;
  }
  const { best, value } = advice.found || {};
  const words = best && either(best);
  const rough = value !== null && value !== undefined;
  return html`<div class=${`headline${advice.found ? "" : " stale"}`}>
    <strong>${!best ? "…" : rough ? about(value) : capital(words)}</strong>
    <span>${rough ? `${header.objective.text}; best slide: ${words}` : `best slide for: ${header.objective.text}`}</span>
  </div>`;
}

/** A text field for a position. */
function Setup({ rules, cells, onBegin }) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const use = (event) => {
    event.preventDefault();
    try {
      onBegin(rules.parse(text));
      setProblem("");
    } catch (error) {
      setProblem(sentence(error));
    }
  };
  return html`<form class="card setup-field" onSubmit=${use} aria-label="Position">
    <div class="row">
      <label class="field"><span>Set up a position: tiles by rows${rules.x !== null && ", large ones as they are"}</span>
        <input inputmode="text" autocomplete="off" spellcheck="false" placeholder=${boardText(cells, rules.shape)} value=${text} onInput=${(event) => setText(event.target.value)} />
      </label>
      <button class="button"><${Icon} name="edit" /><span>Play it</span></button>
    </div>
    ${problem && html`<p class="loss-text" role="alert">${problem}</p>`}
  </form>`;
}

/** What the policy is, and what it does not hold. */
function About({ header }) {
  const { objective, start, layers, thinned, leaves, program } = header;
  const states = layers.reduce((sum, [, count]) => sum + count, 0);
  return html`<section class="card about" aria-label="About">
    <p>${capital(objective.text)} from the start, if a best slide is always made: <b title=${start.text}>${start.short}</b>.</p>
    <p>The page holds the best slides of ${count(states)} positions, not counting rotated and mirrored ones. Autoplay makes each of the best slides with the same probability.</p>
    ${thinned && html`<p>${leaves > 0
      ? `They are those that well played games visit. Of the games that autoplay plays, ${come(leaves)} to a position that is not here. Then autoplay stops, and you can play on by hand.`
      : "Some positions were left out, but no game that makes the best slides comes to them."}</p>`}
    <p class="quiet">Made with tilebase ${program}. Keys: arrows or W A S D slide, Space starts and stops the autoplay, Z undoes, Y redoes, N begins a new game, and Z brings the last one back.</p>
  </section>`;
}

/** What a screen reader says after a slide. */
function spoken(entry, advice, shape) {
  const { direction, spawn, end, cells } = entry;
  const parts = [direction && `${capital(direction)}.`, spawn && `New ${spawn.tile} in ${placeWord(spawn.cell, shape)}.`];
  if (end) parts.push(ENDS[end]);
  else if (advice.found) parts.push(`Best slide: ${either(advice.found.best)}.`);
  else if (advice.found === null) parts.push("The best slide is not known.");
  return [...parts, `${boardWords(cells, shape)}.`].filter(Boolean).join(" ");
}

// -- the page -----------------------------------------------------------------------------------

function Player({ policy }) {
  const { header } = policy;
  const rules = useRef(null);
  rules.current ||= new Rules(header.rules);
  const game = useGame(rules.current, Math.random);
  const [turn, setTurn] = useState(0);
  const percent = useLoading(policy);
  const advice = useAdvice(policy, rules.current, game.now, turn);
  const [auto, setAuto] = useState(false);
  const [stopped, setStopped] = useState("");
  const [speed, setSpeed] = useSetting("player-speed", 2);
  const halt = (why = "") => {
    setAuto(false);
    setStopped(why);
  };
  useAutoplay(auto, halt, SPEEDS[speed] || 4, game, advice, Math.random);
  const byHand = (action) => (...given) => {
    halt();
    action(...given);
  };
  const slide = byHand(game.slide);
  const toggle = () => (auto ? halt() : (setStopped(""), setAuto(true)));
  const [undo, redo, restart] = [game.undo, game.redo, game.restart].map(byHand);
  useKeys((key, event) => {
    const direction = directionOf(key, header.rules.directions);
    if (direction) return slide(direction), true;
    if (event.target.matches("button, summary, a") && [" ", "Enter"].includes(key)) return false;
    const action = { z: undo, u: undo, y: redo, n: restart, " ": toggle }[key];
    action?.();
    return Boolean(action);
  });
  const { now } = game;
  const { shape, directions } = header.rules;
  return html`<div class="play">
    <div class="stage">
      <${Board} shape=${shape} cells=${now.cells} tokens=${now.tokens} ghosts=${now.ghosts} labels=${now.labels} goals=${rules.current.goals} label="Board" directions=${directions} onSlide=${slide} />
      <div class="bar-of-buttons">
        <${Button} icon="undo" label="Undo (Z)" disabled=${!game.canUndo} onClick=${undo} />
        <${Button} icon="redo" label="Redo (Y)" disabled=${!game.canRedo} onClick=${redo} />
        <${Button} icon="new" onClick=${restart}>New game<//>
        <${Button} icon=${auto ? "pause" : "play"} aria-pressed=${auto} onClick=${toggle}>Autoplay<//>
        <label class="speed"><span>Speed</span>
          <input type="range" min="0" max=${SPEEDS.length - 1} value=${speed} aria-valuetext=${`${SPEEDS[speed]} slides a second`} onInput=${(event) => setSpeed(+event.target.value)} />
        </label>
      </div>
    </div>
    <div class="side">
      <section class="card" aria-label="Best slide">
        <div class="advice"><${Advice} header=${header} advice=${advice} percent=${percent} end=${now.end} stopped=${stopped} again=${() => setTurn(turn + 1)} /></div>
        <${Slides} directions=${directions} slides=${game.slides} best=${advice.found?.best} refusal=${(direction) => (now.end ? "" : rules.current.refusal(now, direction))} onSlide=${slide} />
        <p class="quiet">Move ${count(game.at)}, sum ${count(rules.current.sum(now.cells))}</p>
      </section>
      <${Setup} rules=${rules.current} cells=${now.cells} onBegin=${byHand(game.begin)} />
      <${About} header=${header} />
    </div>
    <${Live}>${auto || (advice.found === undefined && !now.end) ? "" : spoken(now, advice, shape)}<//>
  </div>`;
}

function App() {
  const [state, setState] = useState({});
  const theme = useTheme();
  const load = () => {
    const check = document.querySelector("meta[name=policy-check]").content;
    Policy.load(check).then((policy) => setState({ policy }), (error) => setState({ problem: sentence(error) }));
  };
  useEffect(load, []);
  const { policy, problem } = state;
  return html`<div class="player">
    <header><h1>${document.title}</h1><div class="corner">${theme}</div></header>
    <main>
      ${problem && html`<${Notice} again=${load}>${problem}<//>`}
      ${!problem && !policy && html`<p class="wait">Loading …</p>`}
      ${policy && html`<${Player} policy=${policy} />`}
    </main>
  </div>`;
}

const place = document.getElementById("app");
place.replaceChildren();
render(html`<${App} />`, place);
