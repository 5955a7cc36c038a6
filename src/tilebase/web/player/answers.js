// What a server would answer of a table, computed from its packed values: the views of the explorer ask for it.

import { boardText, cellsOf, emptyCells, largestOf, mulberry32, slideTokens, tokensOf, withSpawn } from "../explorer/rules.js";
import { between, lossText } from "../explorer/text.js";
import { Problem } from "../explorer/api.js";
import { BoardError, Rules } from "./moves.js";
import { PolicyError } from "./policy.js";

const MISTAKE = 1e-3; // a loss of this part of the value, as the server has it

/** Why the best slide of a position is not known. */
function unknownWords(thinned) {
  if (!thinned) return "This position is not on the page: no game from the start comes to it. You can play on by hand.";
  return "This position is not on the page, which holds those that well played games visit. You can play on by hand: the best slide is marked again as soon as it is known.";
}

const logistic = (number) => 1 / (1 + Math.exp(-number));

export class Answers {
  constructor(policy) {
    const { info, rules } = policy.header;
    this.policy = policy;
    this.info = info;
    this.rules = new Rules(info, rules);
  }

  /** The answer to a request of `api.js`.  Throws a `Problem`. */
  async ask(address, { body } = {}) {
    const url = new URL(address, "http://page/");
    const given = Object.fromEntries(url.searchParams);
    try {
      if (url.pathname === "/api/start") return this.#document(this.rules.begin(mulberry32(+given.seed)));
      if (url.pathname === "/api/spawns") return await this.#spawns(given.board);
      if (!body) return await this.#probe(given.board);
      const boards = JSON.parse(body).boards;
      return { answers: await Promise.all(boards.map((board) => this.#probe(board).catch((error) => ({ problem: error.message })))) };
    } catch (error) {
      if (error instanceof BoardError || error instanceof PolicyError) throw new Problem(error.message);
      throw error;
    }
  }

  #document(cells) {
    return { board: boardText(cells, this.info.shape), cells };
  }

  /** A position with the values of its slides, as /api/probe gives it. */
  async #probe(text) {
    const { rules } = this;
    const { cells, large, image, orientation } = rules.parse(text);
    const tokens = tokensOf(cells);
    const labels = new Map(tokens.filter(({ word }) => word === "x" && large).map(({ id, cell }) => [id, large[cell]]));
    const shown = (some, like) => some.reduce((words, { id, cell }) => (labels.has(id) ? words.with(cell, labels.get(id)) : words), like);
    const end = rules.end(cells);
    const slides = end ? [] : rules.slides(tokens, cells);
    const found = await this.#judge(cells, slides);
    const names = slides.map(({ direction }) => direction);
    const best = slides.filter((_, index) => found.best[index]).map(({ direction }) => direction);
    const cut = rules.cut(cells);
    return this.#doubted(this.#asGiven(image, {
      table: this.info.name, ...this.#document(shown(tokens, cells)), sum: rules.sum(cells), state: end || "play",
      largest: largestOf(shown(tokens, cells)), meaning: this.policy.header.objective.text,
      value: found.value, cost: Boolean(this.policy.header.objective.lost), best, problem: end || best.length ? null : unknownWords(this.policy.header.thinned),
      slides: slides.map((slide, index) => ({
        direction: slide.direction, cells: shown(slide.tokens, slide.cells), board: boardText(slide.cells, this.info.shape), ends: slide.end,
        value: found.values[index], best: found.best[index], ...this.#loss(found, index, cut),
      })),
      refused: Object.fromEntries(this.info.directions.filter((one) => !names.includes(one)).map((one) => [one, rules.refusal({ tokens, cells }, one)])),
      goal_cells: rules.goals, large_tiles: image.map((_, cell) => Number(large?.[image.indexOf(cell)] || 0)).filter(Boolean), orientation,
      notes: cut ? [cut] : [],
    }));
  }

  /** An answer for a board that was rotated or mirrored: what it says is turned back. */
  #asGiven(image, answer) {
    const { directions, lines } = this.info;
    const back = (cells) => this.#document(cells.map((_, cell) => cells[image.indexOf(cell)]));
    const moved = (direction) => String(lines[direction].find((line) => line.length > 1)?.map((cell) => image[cell]));
    const named = Object.fromEntries(directions.map((one) => [one, directions.find((other) => lines[other].some((line) => String(line) === moved(one)))]));
    const slides = answer.slides.map((slide) => ({ ...slide, ...back(slide.cells), direction: named[slide.direction] }));
    return {
      ...answer, ...back(answer.cells), best: answer.best.map((one) => named[one]), slides,
      refused: Object.fromEntries(Object.entries(answer.refused).map(([one, why]) => [named[one], why])),
      goal_cells: answer.goal_cells.map((cell) => image[cell]),
    };
  }

  /** An answer that judges no slide where large tiles are equal, and says why, as `Answer.doubt` of a table. */
  #doubted(answer) {
    const { cells, slides, large_tiles, notes } = answer;
    const number = (tile) => cells.filter((word) => word === String(tile)).length;
    const equal = [...new Set(large_tiles)].filter((tile) => number(tile) > 1).sort((one, other) => one - other);
    if (!equal.length) return answer;
    const apart = (word) => word !== "x" && !large_tiles.includes(Number(word));
    const empty = (direction, merges) => emptyCells(cellsOf(slideTokens(tokensOf(cells), this.info.lines[direction], merges).tokens, cells)).length;
    const merging = this.info.directions.filter((one) => empty(one) !== empty(one, apart));
    const words = equal.map((tile) => `${number(tile)} of ${tile}`).join(" and ");
    const doubt = `large tiles are equal (${words}), and the table does not know that they can merge${merging.length ? `: ${merging.join(" and ")} would merge them` : ""}`;
    const refused = Object.fromEntries(Object.entries(answer.refused).map(([one, why]) => [one, why === "moves nothing" && merging.includes(one) ? "would merge large tiles" : why]));
    return { ...answer, refused, slides: slides.map((slide) => ({ ...slide, loss: null, loss_text: "–", mistake: false })), notes: [doubt, ...notes] };
  }

  /** The values of slides, null if one is not held; which slides are the best; and the value of the position. */
  async #judge(cells, slides) {
    const { header } = this.policy;
    const { rules } = this;
    const sum = rules.sum(cells);
    const places = await Promise.all(slides.map((slide) => (slide.end === "won" ? this.policy.won(sum) : this.policy.value(rules.codes(slide.cells), sum))));
    const edges = places.map((place, index) => place && this.#added(place, cells, slides[index].cells));
    const known = edges.some(Boolean) && (header.below || edges.every(Boolean));
    const last = Math.max(...edges.filter(Boolean).map(({ low }) => low));
    const corrected = known && (await this.policy.corrected(rules.codes(cells), sum));
    const best = slides.map(({ direction }, index) =>
      Boolean(known && (corrected ? corrected[this.info.directions.indexOf(direction)] : edges[index] && edges[index].high > last)));
    const values = edges.map((one) => one && this.#value(one));
    return { values, best, value: values[best.indexOf(true)] || null };
  }

  /** The cell of the value of a slide: with what the slide adds. */
  #added(place, before, after) {
    const { slide, potential } = this.policy.header.objective;
    const earned = (cells) => this.rules.codes(cells).reduce((sum, code) => sum + ((potential && potential[code]) || 0), 0);
    const gain = slide + earned(after) - earned(before);
    return { ...place, low: place.low + gain, high: place.high + gain };
  }

  /** A value as the server writes it, of the cell in which it lies. */
  #value({ low, high, never, open, certain }) {
    const { logits, objective } = this.policy.header;
    const { unit, lost, discount, rounded } = objective;
    if (never && !logits) return { kind: "about", short: "never", text: "never", float: null };
    const whole = !rounded && high - low <= 1; // the one whole number of this cell
    const logit = never ? [-Infinity, -Infinity] : certain ? [Infinity, Infinity] : [open ? -Infinity : low, high];
    const edges = logits ? logit : whole ? [Math.ceil(low), Math.ceil(low)] : [low, high];
    const told = edges.map((edge) => (lost ? -edge : edge)).map((edge) => discount * (logits ? logistic(edge) : edge));
    const ends = lost ? told.reverse() : told;
    const short = between(...ends, unit);
    return { kind: "about", short, text: short, float: (ends[0] + ends[1]) / 2, ends };
  }

  /** What a slide loses: its value against the best one. */
  #loss({ values, best, value }, index, cut) {
    if (best[index] && !cut) return { loss: 0, loss_text: "0", mistake: false };
    const mine = values[index];
    if (cut || !mine?.ends || !value?.ends) return { loss: null, loss_text: "–", mistake: false };
    const { unit, lost } = this.policy.header.objective;
    const [better, worse] = lost ? [mine, value] : [value, mine];
    const least = Math.max(0, better.ends[0] - worse.ends[1]);
    const loss = Math.abs(value.float - mine.float);
    const text = unit === "yes-no" || loss < MISTAKE ** 2 * Math.abs(value.float) ? lossText(loss, unit, Math.abs(value.float)) : between(least, better.ends[1] - worse.ends[0], unit, true);
    return { loss, loss_text: text, mistake: loss >= MISTAKE * Math.abs(value.float) };
  }

  /** What spawns lead to, as /api/spawns gives it. */
  async #spawns(text) {
    const { cells, large, image } = this.rules.parse(text);
    const real = cells.map((_, cell) => large?.[image.indexOf(cell)] || cells[image.indexOf(cell)]);
    const choices = emptyCells(real).flatMap((cell) => this.info.spawns.map(({ tile }) => ({ cell, tile })));
    const answers = await Promise.all(choices.map((choice) => this.#probe(boardText(withSpawn(real, choice), this.info.shape))));
    const { lost } = this.policy.header.objective; // what a lost board is worth; of a cost, its negative
    const worth = (number) => (lost ? -number : number);
    const floats = answers.map(({ state, value }) => (state === "lost" ? lost : (value?.float ?? null) === null ? null : worth(value.float)));
    const known = floats.filter((one) => one !== null);
    return {
      ...this.#document(real),
      spawns: choices.map((choice, index) => ({
        ...choice, board: answers[index].board, cells: answers[index].cells, value: answers[index].value, state: answers[index].state,
        worst: floats[index] !== null && floats[index] === Math.min(...known), best: floats[index] !== null && floats[index] === Math.max(...known),
      })),
    };
  }
}
