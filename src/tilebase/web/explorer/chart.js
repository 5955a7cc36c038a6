// Charts as SVG: a line of values over a game, bars of counts.  Each has a text for those who do not see it.

import { brief, html, useLayoutEffect, useRef, useState } from "./language.js";
import { count, several, tickTexts } from "./text.js";

const HIGH = 200; // pixels
const PAD = { right: 10, top: 10, bottom: 26 };
const DIGIT = 7; // pixels that a character of a tick takes
const LEAST_SPAN = 0.01; // of an axis of probabilities that are not near 0 or 1: smaller changes look small
const LEAST_PART = 0.1; // of a power of ten, as a span of distances from 1
const plotHeight = HIGH - PAD.top - PAD.bottom;

/** The width of an element in pixels, which a chart is drawn for. */
function useWidth() {
  const ref = useRef();
  const [width, setWidth] = useState(480);
  useLayoutEffect(() => {
    const measure = () => setWidth(Math.max(200, Math.round(ref.current.clientWidth)));
    const observer = new ResizeObserver(measure);
    observer.observe(ref.current);
    measure();
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

/** The space that the texts at the left of a chart need, in pixels. */
const spaceFor = (texts) => 16 + DIGIT * Math.max(3, ...texts.map((text) => text.length));

/** Where a click is along the x axis, from 0 to 1. */
function partAt(event, left) {
  const frame = event.currentTarget.getBoundingClientRect();
  return (event.clientX - frame.left - left) / (frame.width - left - PAD.right);
}

const within = (index, length) => Math.max(0, Math.min(length - 1, index));

/** The frame of a chart: an image with a text, lines at `ticks`, and words at the ends of the x axis. */
function Frame({ kind, label, width, ticks, texts, y, left, right, onClick, children }) {
  const begin = spaceFor(texts);
  const axis = HIGH - 6;
  return html`<svg class=${`chart ${kind}${onClick ? " picks" : ""}`} viewBox=${`0 0 ${width} ${HIGH}`} height=${HIGH} role="img" aria-label=${label} onClick=${onClick}>
    ${ticks.map(
      (tick, index) => html`<g class="tick">
        <line x1=${begin} x2=${width - PAD.right} y1=${y(tick)} y2=${y(tick)} />
        <text x=${begin - 8} y=${y(tick) + 4} text-anchor="end">${texts[index]}</text>
      </g>`,
    )}
    <text x=${begin} y=${axis}>${left}</text>
    <text x=${width - PAD.right} y=${axis} text-anchor="end">${right}</text>
    ${children}
  </svg>`;
}

// The extremes of numbers: a game has more of them than a function takes arguments.
const least = (numbers) => numbers.reduce((one, other) => Math.min(one, other));
const most = (numbers) => numbers.reduce((one, other) => Math.max(one, other));

/** The ends of the y axis. */
function span(values, unit) {
  const known = values.filter((value) => value !== null);
  const low = known.length ? least(known) : 0;
  const high = known.length ? most(known) : 1;
  if (unit === "yes-no" || (unit === "probability" && low === high && (low === 0 || low === 1))) return [0, 1];
  const size = unit === "distance" ? LEAST_PART : unit === "probability" && low > 0.001 && high < 0.999 ? LEAST_SPAN : 0;
  const missing = Math.max(0, (size || (low === high ? Math.abs(low) * 0.2 || 1 : 0)) - (high - low));
  const [first, last] = [low - missing / 2, high + missing / 2];
  return unit === "probability" ? [Math.max(0, first), Math.min(1, last)] : [first, last];
}

const NEAR = 0.9; // of probabilities that are all larger, the distance from 1 is drawn

/** How values become heights of a unit: {to, from, unit}.  Near 1 the logarithm of the distance from 1 is drawn. */
function scaleOf(values, unit) {
  const known = values.filter((value) => value !== null);
  const rests = known.map((value) => 1 - value).filter((rest) => rest > 0);
  if (unit !== "probability" || !rests.length || least(known) < NEAR) return { to: (value) => value, from: (height) => height, unit };
  const end = least(rests) / 2; // the distance at which 1 itself is drawn
  const height = (value) => -Math.log10(Math.max(1 - value, end));
  return { to: height, from: (one) => (one < height(1) ? 1 - 10 ** -one : 1), unit: "distance" };
}

/** A path of separate lines; those with an end that is not known are left out. */
const linesOf = (lines) =>
  lines
    .filter((line) => line.every(([, y]) => y !== null))
    .map((line) => `M${line.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`)
    .join("");

/**
 * Values over a game.  `values[i]` is the value before slide i, and `afters[i]` that after it, before the spawn:
 * what slides lost and what spawns changed are lines of different colours.  Where one of them is not known, the line has a
 * gap.  `left` and `right` are the words at the ends of the axis.  `marks` are indices of slides, `current` is the index of the position shown, -1 for none;
 * `onPick(index)` goes to a position.  Of a `cost`, slides lose what makes the value larger.
 */
export function LineChart({ values, afters, marks = [], cost = false, current, onPick, unit, label, left, right }) {
  const [ref, width] = useWidth();
  const scale = scaleOf([...values, ...afters], unit);
  const heights = [...values, ...afters].map((value) => (value === null ? null : scale.to(value)));
  const [low, high] = span(heights, scale.unit);
  const last = values.length - 1;
  const ticks = [low, (low + high) / 2, high].map(scale.from);
  const texts = tickTexts(ticks, unit);
  const begin = spaceFor(texts);
  const x = (index) => begin + (last < 1 ? 0 : (index / last) * (width - begin - PAD.right));
  const y = (value) => (value === null ? null : PAD.top + (1 - (scale.to(value) - low) / (high - low)) * plotHeight);
  const pick = onPick && ((event) => onPick(within(Math.round(partAt(event, begin) * last), values.length)));
  const before = (index) => [x(index), y(values[index])];
  const after = (index) => [x(index + 0.5), y(afters[index] ?? null)];
  const steps = values.slice(0, -1).map((_, index) => index);
  const known = (index) => (afters[index] ?? null) !== null;
  const lost = (index) => known(index) && values[index] !== null && (cost ? afters[index] > values[index] : afters[index] < values[index]);
  const line = (index) => [before(index), after(index)];
  const losses = linesOf(steps.filter(lost).map(line));
  const alone = values.flatMap((_, index) => (known(index) || known(index - 1) ? [] : [[before(index), before(index)]]));
  const others = linesOf([...steps.filter((index) => !lost(index)).map(line), ...alone]);
  const spawns = linesOf(steps.map((index) => [after(index), before(index + 1)]));
  const shown = values[current] ?? null;
  return html`<div ref=${ref}>
    <${Frame} kind="lines" label=${label} width=${width} ticks=${ticks} texts=${texts} y=${y} left=${left ?? "1"} right=${right ?? several(last, "move")} onClick=${pick}>
      ${spawns && html`<path class="line spawns" d=${spawns} />`}
      ${others && html`<path class="line kept" d=${others} />`}
      ${losses && html`<path class="line slid" d=${losses} />`}
      ${marks.filter(known).map((index) => html`<path class="mark" d=${`M${after(index)[0]} ${after(index)[1] - 6}l6 6-6 6-6-6z`} />`)}
      ${current >= 0 && html`<line class="now" x1=${x(current)} x2=${x(current)} y1=${PAD.top} y2=${HIGH - PAD.bottom} />`}
      ${shown !== null && html`<circle class="now" cx=${x(current)} cy=${y(shown)} r="5" />`}
    <//>
    <p class="legend"><span class="slid">Lost by slides: skill</span><span class="spawns">Changed by spawns: luck</span>${marks.length > 0 && html`<span class="marks">◆ ${cost ? "Largest rises" : "Largest drops"}</span>`}</p>
  </div>`;
}

/**
 * Bars of counts.  `bars` are {from, to, count} along the x axis; with `log`, heights are logarithms.
 * `current` is the index of a bar, `onPick(index)` chooses one.  The axis reaches at least to `most`.
 */
export function BarChart({ bars, log, most = 1, current, onPick, label, left, right }) {
  const [ref, width] = useWidth();
  const highest = Math.max(most, ...bars.map((bar) => bar.count));
  const first = bars[0].from;
  const last = bars[bars.length - 1].to;
  const ticks = log ? powers(highest) : [...new Set([0, Math.round(highest / 2), highest])];
  const texts = ticks.map((tick) => brief(tick));
  const begin = spaceFor(texts);
  const plotWidth = width - begin - PAD.right;
  const x = (value) => begin + ((value - first) / (last - first || 1)) * plotWidth;
  const part = (number) => (log ? Math.log10(number + 1) / Math.log10(highest + 1) : number / highest);
  const y = (number) => PAD.top + (1 - part(number)) * plotHeight;
  const base = HIGH - PAD.bottom;
  const pick = onPick && ((event) => onPick(barAt(first + partAt(event, begin) * (last - first), bars)));
  const gap = plotWidth / bars.length > 4 ? 1 : 0;
  const path = bars.map((bar) => {
    const wide = Math.max(0.6, x(bar.to) - x(bar.from) - gap);
    return bar.count ? `M${x(bar.from).toFixed(2)} ${base}V${y(bar.count).toFixed(1)}h${wide.toFixed(2)}V${base}z` : "";
  });
  const now = bars[current];
  return html`<div ref=${ref}>
    <${Frame} kind="bars" label=${label} width=${width} ticks=${ticks} texts=${texts} y=${y} left=${left ?? count(first)} right=${right ?? count(last)} onClick=${pick}>
      <path class="fill" d=${path.join("")} />
      ${now && html`<path class="fill now" d=${path[current]} /><path class="pointer" d=${`M${(x(now.from) + x(now.to)) / 2} ${base + 2}l5 8h-10z`} />`}
    <//>
  </div>`;
}

/** The bar at a value of the x axis; the one before it if that value has no bar. */
function barAt(value, bars) {
  const index = bars.findIndex((bar) => value < bar.to);
  return within(index < 0 ? bars.length - 1 : index, bars.length);
}

function powers(most) {
  const top = Math.floor(Math.log10(most));
  const step = top > 5 ? 2 : 1;
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, index) => 10 ** (index * step));
}
