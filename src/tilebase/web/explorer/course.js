// The course of a game: its values as a line, and where it was won or lost.

import { html } from "./language.js";
import { LineChart } from "./chart.js";
import { Game } from "./game.js";
import { letGo } from "./parts.js";
import { largestOf } from "./rules.js";
import { capital, counts, lossText, numberOf, rounded, several } from "./text.js";

const MOST_DROPS = 5;
const LEAST = 1e-6; // smaller parts of a value are not told apart
const LEAST_PART = 1e-3; // smaller drops than this part of the largest one are not listed

/** Of drops, the largest first, those that are listed and marked. */
export const largest = (drops) => drops.slice(0, MOST_DROPS).filter(({ total }) => total >= LEAST_PART * drops[0].total);

/** The value of a position of a game as a number; the end of a game has one, too. */
function valueOf(entry, unit, cost) {
  if (!entry.end) return numberOf(entry.answer?.value);
  if (cost) return entry.end === "won" ? 0 : counts(unit) ? null : 1;
  if (unit === "tile") return largestOf(entry.cells);
  return entry.end === "won" && !counts(unit) ? 1 : null;
}

/**
 * The largest losses between neighbouring positions: what the slide lost, and what the spawn did.  If values
 * `fall` anyway, as the score that is still to be made, only what slides lost counts.
 */
function dropsOf(entries, values, fall, cost) {
  const drops = [];
  entries.slice(0, -1).forEach((entry, index) => {
    const made = Game.made(entry);
    const [before, after] = [values[index], values[index + 1]];
    if (!made || made.loss === null || before === null) return;
    const slide = made.loss;
    const spawn = fall || after === null ? 0 : Math.max(0, (cost ? after - before : before - after) - slide);
    const of = Math.abs(cost ? Math.max(before, after) : before);
    if (slide + spawn > LEAST * of) drops.push({ index, slide, spawn, direction: entry.slide, total: slide + spawn, of });
  });
  return largest(drops.sort((one, other) => other.total - one.total));
}

function causes({ slide, spawn, direction, of }, unit) {
  const parts = [];
  if (slide > LEAST * of) parts.push(`${lossText(slide, unit, of)} by the slide ${direction}`);
  if (spawn > LEAST * of) parts.push(`${lossText(spawn, unit, of)} by the spawn`);
  return parts.join(", ");
}

export function Course({ game, unit }) {
  const { entries, at } = game;
  const cost = entries.some((entry) => entry.answer?.cost); // the player makes the value small
  const values = entries.map((entry) => valueOf(entry, unit, cost));
  const afters = entries.map((entry) => (Game.made(entry)?.loss === null ? null : numberOf(Game.made(entry)?.value)));
  const drops = dropsOf(entries, values, counts(unit), cost);
  const label = `Value over ${several(entries.length - 1, "move")}: from ${rounded(values[0], unit)} to ${rounded(values[values.length - 1], unit)}.`;
  return html`<section class="card course" aria-labelledby="course">
    <h2 id="course">Course of the game</h2>
    ${entries.length < 2
      ? html`<p class="quiet">After some moves you see here how the value changed, and where the game was won or lost.</p>`
      : html`<${LineChart} values=${values} afters=${afters} marks=${drops.map((drop) => drop.index)} cost=${cost} current=${at} onPick=${(index) => game.goto(index)} unit=${unit} label=${label} />
        <label class="field wide"><span>Move</span>
          <input type="range" min="0" max=${entries.length - 1} value=${at} onInput=${(event) => game.goto(+event.target.value)} onClick=${letGo} />
        </label>
        ${drops.length > 0 &&
        html`<h3>Largest ${cost ? "rises" : "drops"}</h3>
          <ol class="drops">
            ${drops.map(
              (drop) => html`<li><button type="button" onClick=${() => game.goto(drop.index)}>
                <b>${cost ? "+" : "−"}${lossText(drop.total, unit, drop.of)}</b><span>${capital(`move ${drop.index + 1}`)}: ${causes(drop, unit)}</span>
              </button></li>`,
            )}
          </ol>`}`}
  </section>`;
}
