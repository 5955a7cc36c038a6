// Numbers and values as people read them.  Where the server sends a text, that is shown; these are for numbers
// that the page computes itself.

/** A value of the API as a number; null if it is none. */
export function numberOf(value) {
  if (!value) return null;
  if (value.kind === "exact") return Number(value.value);
  if (value.kind === "interval") return (value.floats[0] + value.floats[1]) / 2;
  return value.float ?? null;
}

/** A value as text, short or with all digits. */
export const valueText = (value, digits) => (value ? (digits ? value.text : value.short) : "–");

const FINE = 1e-4; // probabilities nearer to 0 or 1 are written with a power of ten

/** A number as a power of ten with two digits: 3.1e-6. */
const power = (number) => number.toExponential(1).replace(".0e", "e").replace("e+", "e");

/** A number of a unit as people read it. */
export function short(number, unit) {
  if (number === null || number === undefined) return "–";
  if (unit === "probability") return shortProbability(number);
  if (unit === "yes-no") return number >= 0.5 ? "yes" : "no";
  return amount(number);
}

function shortProbability(number) {
  if (number === 0 || number === 1) return `${number * 100} %`;
  if (number < FINE) return power(number);
  if (1 - number < FINE) return `1 - ${power(1 - number)}`;
  return percents(number, Math.min(number, 1 - number));
}

/** Percent with one decimal, or so many that `margin` has two significant digits. */
function percents(number, margin) {
  const decimals = Math.max(1, 1 - Math.floor(Math.log10(100 * margin)));
  return `${(100 * number).toFixed(decimals).replace(/(\.\d+?)0+$/, "$1")} %`;
}

function amount(number) {
  if (number > 0 && number < 0.01) return power(number);
  return number.toLocaleString("en-US", { maximumFractionDigits: Math.abs(number) >= 100 ? 1 : 2 });
}

/** A loss or a difference as people read it. */
export function lossText(number, unit) {
  if (number === null || number === undefined) return "–";
  const size = Math.abs(number);
  if (size < 1e-15) return "0";
  if (unit === "yes-no") return "the forced win";
  if (unit !== "probability") return amount(size);
  return size < FINE ? power(size) : percents(size, size);
}

/** A change with its sign, as people read it. */
export function changeText(number, unit) {
  if (number === null || number === undefined) return "–";
  const size = lossText(number, unit);
  return size === "0" ? size : `${number < 0 ? "−" : "+"}${size}`;
}

/** Numbers at the side of a chart: with so many digits that they differ. */
export function tickTexts(ticks, unit) {
  const size = Math.abs(ticks[ticks.length - 1] - ticks[0]);
  if (unit === "yes-no") return ticks.map((tick) => ({ 0: "no", 1: "yes" })[tick] ?? "");
  if (unit !== "probability") return ticks.map((tick) => amount(size > 20 ? Math.round(tick) : tick));
  const near = ticks[0] > 1 - 10 * FINE || ticks[ticks.length - 1] < 10 * FINE;
  if (near && size < FINE) return ticks.map(shortProbability);
  const decimals = Math.max(0, Math.min(9, Math.ceil(-Math.log10(100 * size)) + 1));
  return ticks.map((tick) => `${(100 * tick).toFixed(decimals)} %`);
}

/** A part as percent, without the fine print of probabilities. */
export const percent = (part) => (part === null || part === undefined ? "–" : `${(100 * part).toFixed(1)} %`);

/** A number with separators for thousands. */
export const count = (number) => Number(number).toLocaleString("en-US");

/** "1 move", "2 moves". */
export const several = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

/** A word with a capital. */
export const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1);

/** Words as "up", "up or left". */
export const either = (words) => words.join(" or ");

export const ENDS = {
  won: "The game is won.",
  lost: "No slide is left: the game is lost.",
  ended: "The game ends here: the horizon is reached.",
};
