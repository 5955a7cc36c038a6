// Numbers and values as people read them: for numbers that the page computes, as objectives/numbers.py does for those
// of the server, whose texts are shown as they are.  tests/numbers.tsv holds the cases that both must write alike.

/** A value of the API as a number; null if it is not a number, as "never". */
export function numberOf(value) {
  if (!value || value.text === "never") return null;
  if (value.kind === "exact" || value.kind === "rounded") return Number(value.value);
  if (value.kind === "interval") return (value.floats[0] + value.floats[1]) / 2;
  return value.float ?? null;
}

/** The size of a value, of which slides lose parts; 0 if it is not a number. */
export const sizeOf = (value) => Math.abs(numberOf(value) ?? 0);

/** A value as text, short or with all digits. */
export const valueText = (value, digits) => (value ? (digits ? value.text : value.short) : "–");

const SMALL = 1e-6; // a smaller probability is written with a power of ten
const NEAR_ONE = 1e-9; // a probability whose complement is smaller is ≈ 100 %
const NEGLIGIBLE = 1e-6; // a loss of a smaller part of the value is ≈ 0

/** What a mistake is; the server says which slides are mistakes. */
export const MISTAKE = "a thousandth of the value or more";

/** Two significant digits and a power of ten: 3.1e-7. */
const power = (number) => number.toExponential(1).replace(".0e", "e").replace("e+", "e");

/** How good a slide was, in a word: by the part of the value that it lost. */
export function gradeOf({ loss, best }, of) {
  if (loss === null) return null;
  if (best) return "best";
  const part = of ? loss / of : 1;
  return part < 0.001 ? "fine" : part < 0.01 ? "slip" : part < 0.05 ? "mistake" : "blunder";
}

/** A grade as a word; a slip is counted as a mistake, too. */
export const gradeName = (grade) => (grade === "slip" ? "Small mistake" : capital(grade));

/** Percent with one decimal, or so many that `margin` has two significant digits. */
function percents(number, margin) {
  const decimals = Math.max(1, 1 - Math.floor(Math.log10(100 * margin)));
  return `${(100 * number).toFixed(decimals).replace(/(\.\d+?)0+$/, "$1")} %`;
}

/** One decimal, two below 100; a whole number without decimals. */
export function amount(number) {
  if (Number.isInteger(number)) return number.toLocaleString("en-US");
  if (number > 0 && number < 0.01) return power(number);
  const decimals = Math.abs(number) >= 100 ? 1 : 2;
  return number.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** Whether values of a unit count what is still to be made, so that the end of a game is worth nothing. */
export const counts = (unit) => !["probability", "yes-no", "tile"].includes(unit);

/** A number of a unit as people read it; 0 and 1 are taken as certain. */
export function short(number, unit) {
  if (number === null || number === undefined) return "–";
  if (unit === "yes-no") return number >= 0.5 ? "yes" : "no";
  if (unit !== "probability") return amount(number);
  if (number === 0 || number === 1) return `${number * 100} %`;
  if (1 - number < NEAR_ONE) return "≈ 100 %";
  if (number < SMALL) return `${power(100 * number)} %`;
  return percents(number, Math.min(number, 1 - number));
}

/** Whether two probabilities are the same to a player: as chances to win, and as chances not to. */
const isNear = (one, other) => Math.abs(one - other) < Math.min(NEGLIGIBLE * Math.abs(one), (1 - Math.min(one, other)) / 10);

/** A probability that is not certain, with so many decimals. */
const decimal = (number, decimals) => `${(100 * number).toFixed(decimals)} %`.replace(/^100\.0+ %$/, "≈ 100 %");

/** Rounded numbers of the slides of one position: with so many digits that those differ which are not negligibly near. */
export function apart(numbers, unit) {
  const text = (number, more) => (number === null || unit !== "probability" || !more ? rounded(number, unit) : decimal(number, more));
  const texts = (more) => numbers.map((number) => text(number, more));
  const alike = (found) => numbers.some((one, at) => numbers.some((other, to) => to > at && found[at] === found[to] && one !== other && !isNear(one, other)));
  let more = 0;
  while (more < 13 && alike(texts(more))) more += 1;
  return texts(more);
}

/** As `short`, of a number that was rounded: 0 and 1 are not certain. */
export const rounded = (number, unit) => (unit === "probability" && (number === 0 || number === 1) ? `≈ ${100 * number} %` : short(number, unit));

/** What was lost of a value `of`. */
export function lossText(number, unit, of) {
  if (number === null || number === undefined) return "–";
  if (!number) return "0";
  if (unit === "yes-no") return "the forced win";
  if (number < NEGLIGIBLE * of) return "≈ 0";
  if (unit !== "probability") return amount(number);
  return number < SMALL ? `${power(100 * number)} %` : percents(number, number);
}

/** The text of a loss with a minus sign; a negligible one has no sign, and 0 no text. */
export const lessText = (text) => (text === "0" ? "" : /^≈ 0( %)?$/.test(text) ? text : text.startsWith("≈ ") ? `≈ −${text.slice(2)}` : `−${text}`);

/** A change with its sign. */
export function changeText(number, unit) {
  if (number === null || number === undefined) return "–";
  const size = lossText(Math.abs(number), unit, 1);
  return size === "0" || size.startsWith("≈") ? size : `${number < 0 ? "−" : "+"}${size}`;
}

/** A part of some slides, in percent. */
export function percent(part) {
  if (part === null || part === undefined) return "–";
  const text = `${(100 * part).toFixed(1)} %`;
  const almost = part !== 0 && part !== 1 && ["0.0 %", "100.0 %"].includes(text);
  return almost ? short(part, "probability") : text;
}

/** A number that lies between two others, with the digits that are known, but at least one: as a range, or `one` number. */
export function between(low, high, unit, one = false) {
  const middle = (low + high) / 2;
  if (unit === "yes-no" || low === high) return short(middle, unit);
  const [scale, sign] = unit === "probability" ? [100, " %"] : [1, ""];
  if (scale === 100 && high < SMALL) {
    const [from, to] = (one ? [middle, middle] : [low, high]).map((number) => (100 * number).toExponential(1));
    return low === 0 ? `below ${to} %` : from === to ? `≈ ${to} %` : `${from}–${to} %`;
  }
  if (scale === 100 && low > 1 - SMALL) return "≈ 100 %";
  const places = (number) => Math.ceil(-Math.log10(scale * number));
  const decimals = Math.max(0, Math.min(12, Math.max(places(high - low) - 1, places(Math.abs(middle)))));
  const text = (number) => (scale * number).toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  const [from, to] = one ? [text(middle), text(middle)] : [text(low), text(high)];
  return from === to ? `≈ ${from}${sign}` : `${from}–${to}${sign}`;
}

/** Numbers at the side of a chart: as `short` writes them, or with so many digits that they differ. */
export function tickTexts(ticks, unit) {
  const size = Math.abs(ticks[ticks.length - 1] - ticks[0]);
  if (unit === "yes-no") return ticks.map((tick) => ({ 0: "no", 1: "yes" })[tick] ?? "");
  if (unit !== "probability") return ticks.map((tick) => amount(size > 20 ? Math.round(tick) : tick));
  const texts = ticks.map((tick) => short(tick, unit));
  if (new Set(texts).size === ticks.length || !size) return texts;
  const decimals = Math.max(1, Math.min(13, Math.ceil(-Math.log10(100 * size)) + 1));
  return ticks.map((tick, index) => (tick === 1 ? texts[index] : decimal(tick, decimals)));
}

/** A number with separators for thousands. */
export const count = (number) => Number(number).toLocaleString("en-US");

/** "1 move", "2 moves". */
export const several = (number, word, words = `${word}s`) => `${count(number)} ${number === 1 ? word : words}`;

/** A word with a capital. */
export const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1);

/** The name of a table; words for the digits of the one board from which it starts (`Fit.name`). */
export const tableName = (name) => name.replace(/^([^-]+-\d+)-[0-9a-f]{4,16}$/, "$1, from one board");

/** Words as "up", "up or left". */
export const either = (words) => words.join(" or ");

export const ENDS = {
  won: "The game is won.",
  lost: "No slide is left: the game is lost.",
  ended: "The game ends here: the horizon is reached.",
};

/** How a position ended, in a sentence: the real game goes on where slides only break the formation. */
export function endText(state, refused) {
  const real = ["breaks the formation", "would merge large tiles"];
  if (state === "lost" && Object.values(refused || {}).some((why) => real.includes(why))) return "No slide keeps the formation: the table ends here.";
  return ENDS[state] || "";
}
