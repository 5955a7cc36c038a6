// A game in progress: its positions, the slides and spawns between them, and what the table says of them.
// `Game` knows the rules and the server, but not the page: it calls `notify` after each change.

import { get, post } from "./api.js";
import {
  boardText, cellsOf, emptyCells, randomFor, randomSpawn, sameCells, slideTokens, tokensOf, withSpawn, wordsOf,
} from "./rules.js";
import { capital } from "./text.js";

const BATCH = 500; // positions asked for at a time
const DRAWS = 8; // positions that are drawn until slides of one are judged
const MOST_GAMES = 20; // games that undo leads back to
const UNKNOWN = "unknown"; // the end of a record whose last slide has no spawn, until the server tells

/** A seed that a person can type. */
export const newSeed = () => Math.floor(Math.random() * 1e6);

/** A position of a game: `slide` was made here, `spawn` came after it; `end` if the game ended. */
const entryOf = (cells, answer = null) => ({ cells, answer, slide: null, spawn: null, end: "" });

const holdsGoal = (cells, { goal }) => goal !== null && cells.includes(String(goal));

export class Game {
  /** `info` is what the API tells of the table (`plain`: each slide that changes the board is allowed); `mode` is how tiles are spawned: random, chosen or adversary. */
  constructor(info, objective, notify) {
    Object.assign(this, { info, objective, notify });
    this.mode = "random";
    this.seed = newSeed();
    this.entries = [];
    this.earlier = []; // games before this one: undo at its start leads back to the last of them
    this.later = []; // games that undo left: redo at the end leads on to the last of them
    this.turn = 0; // counts the games that were begun
    this.clear();
  }

  clear() {
    this.at = 0;
    this.tokens = [];
    this.ghosts = [];
    this.after = null; // the board that waits for a spawn
    this.queued = null; // a slide that waits for the answer
    this.problem = null;
    this.refusal = ""; // why the last slide was not made
    this.shown = null; // the last answer that was here: shown until the next is
  }

  get entry() {
    return this.entries[this.at] || null;
  }

  /** The board to draw: that of the position, or the one that waits for a spawn. */
  get cells() {
    return this.after || this.entry?.cells || null;
  }

  get answer() {
    return this.after ? null : this.entry?.answer || null;
  }

  get waits() {
    return this.after !== null;
  }

  get board() {
    return this.entry ? boardText(this.entry.cells, this.info.shape) : "";
  }

  /** How the game ended: "won", "lost", "ended", or "" while it goes on. */
  get end() {
    const entry = this.entry;
    if (!entry || this.after) return "";
    if (entry.end) return entry.end;
    return entry.answer && entry.answer.state !== "play" ? entry.answer.state : "";
  }

  /** The cells on which the goal wins, if it does not win on all. */
  get goals() {
    return this.shown?.goal_cells || [];
  }

  get canUndo() {
    return this.after !== null || this.at > 0 || this.earlier.length > 0;
  }

  get canRedo() {
    return this.at < this.entries.length - 1 || this.later.length > 0;
  }

  // -- positions ------------------------------------------------------------------------------

  /**
   * Begin with a board in any notation, unless you slide or begin another game meanwhile; `drawn` if the seed drew it.  What
   * the server says is the board; throws its `Problem`.
   */
  async begin(board, seed = this.seed, drawn = false) {
    const turn = this.next();
    const answer = await get("probe", { table: this.table, board, objective: this.objective });
    if (turn === this.turn) this.fresh([{ ...entryOf(answer.cells, answer), drawn }], 0, seed);
  }

  get table() {
    return this.info.name;
  }

  /** Begin with a start of the game, or with a position chosen as `options` say (see /api/start): one whose slides are judged, if it is drawn soon. */
  async restart(seed, options = {}) {
    const turn = this.next();
    const draw = (number) => get("start", { table: this.table, seed: seed + number, by: "start", objective: this.objective, ...options });
    const isJudged = async ({ board }) => (await get("probe", { table: this.table, board, objective: this.objective })).slides.some(({ loss }) => loss !== null);
    let found = await draw(0);
    for (let number = 1; options.by && number < DRAWS && turn === this.turn && !(await isJudged(found)); number++) found = await draw(number);
    if (turn === this.turn) await this.begin(found.board, seed, !options.by);
  }

  /** Begin this game once more: with the position that was set up, or with the start that a seed draws. */
  async repeat(seed) {
    const [{ cells, drawn }] = this.entries;
    await (drawn ? this.restart(seed) : this.begin(boardText(cells, this.info.shape), seed));
  }

  /** The turn of a game that is being begun; a slide of yours ends it, so that no board is replaced while you play. */
  next() {
    this.queued = null;
    return ++this.turn;
  }

  put({ entries, at, seed }) {
    this.turn += 1;
    this.clear();
    Object.assign(this, { entries, at, seed });
    this.tokens = tokensOf(this.entry.cells);
    this.shown = this.entry.answer;
    this.notify();
  }

  /** This game as it stands, to come back to. */
  get kept() {
    const { entries, at, seed } = this;
    return { entries, at, seed };
  }

  /** Begin another game; undo at its start leads back to this one. */
  fresh(entries, at, seed) {
    const before = this.entries.length ? [...this.later.reverse(), this.kept] : [];
    this.earlier = [...this.earlier, ...before].slice(-MOST_GAMES);
    this.later = [];
    this.put({ entries, at, seed });
  }

  /** Go to the last game of one list, and put this one on the other. */
  change(from, to) {
    to.push(this.kept);
    this.put(from.pop());
    this.askAll();
  }

  goto(at) {
    if (!this.entries[at]) return;
    const { after } = this;
    this.turn += 1;
    this.refusal = "";
    this.after = null;
    this.queued = null;
    this.problem = null;
    if (at === this.at && !after) return;
    this.at = at;
    this.settle(this.entry.cells);
    this.ask();
    this.notify();
  }

  undo() {
    if (this.after) {
      this.entry.slide = null; // the slide whose spawn was not made yet
      return this.goto(this.at);
    }
    if (this.at === 0 && this.earlier.length) return this.change(this.earlier, this.later);
    return this.goto(this.at - 1);
  }

  redo() {
    const ended = this.at === this.entries.length - 1 && !this.after;
    if (ended && this.later.length) return this.change(this.later, this.earlier);
    return this.goto(this.at + 1);
  }

  /** Draw a board: tokens that are on it already stay what they are. */
  settle(cells) {
    const kept = new Map(this.tokens.map((token) => [token.cell, token]));
    this.ghosts = [];
    this.tokens = tokensOf(cells).map((token) => {
      const old = kept.get(token.cell);
      return old?.word === token.word ? { id: old.id, cell: old.cell, word: old.word } : token;
    });
  }

  // -- moves ----------------------------------------------------------------------------------

  /** Whether two tiles merge: large tiles of a real board never do, as in the table. */
  merges() {
    const large = new Set((this.shown?.large_tiles || []).map(String));
    return (word) => word !== "x" && !large.has(word);
  }

  /** Make a slide if it is allowed, of your `own` or of the table; return whether it was made. */
  slide(direction, own = true) {
    const entry = this.entry;
    if (!entry || this.after || this.end || !this.info.lines[direction]) return false;
    const option = entry.answer?.slides.find((slide) => slide.direction === direction);
    if (entry.answer ? !option : !this.info.plain) {
      if (entry.answer) this.refuse(direction, entry.answer.refused[direction] || "is not allowed");
      else this.queued = direction;
      return false;
    }
    const made = slideTokens(this.tokens, this.info.lines[direction], this.merges());
    if (!option && !made.moved) return this.refuse(direction, "moves nothing");
    if (own) this.turn += 1;
    this.refusal = "";
    Object.assign(this, { tokens: made.tokens, ghosts: made.ghosts });
    if (option && !sameCells(option.cells, cellsOf(this.tokens, entry.cells))) this.settle(option.cells);
    const cells = cellsOf(this.tokens, entry.cells);
    this.entries.length = this.at + 1;
    Object.assign(entry, { slide: direction, spawn: null, own });
    this.follow(cells, option ? option.ends : holdsGoal(cells, this.info) ? "won" : "");
    return true;
  }

  /** Say why a slide is not made. */
  refuse(direction, why) {
    this.refusal = `${capital(direction)} ${why}.`;
    this.notify();
    return false;
  }

  /** What comes after a slide: the end, or a spawn. */
  follow(cells, end) {
    if (end) return this.push({ ...entryOf(cells), end });
    this.after = cells;
    if (this.mode === "random") return this.spawn(randomSpawn(cells, this.info.spawns, randomFor(this.seed, this.at)));
    this.notify();
    if (this.mode !== "chosen") this.askSpawn();
    return undefined;
  }

  /** Change how tiles are spawned, also on a board that waits for a spawn. */
  setMode(mode) {
    this.mode = mode;
    this.problem = null;
    return this.after ? this.follow(this.after, "") : this.notify();
  }

  /** Put a tile on an empty cell of the board that waits for it. */
  spawn(choice) {
    if (!this.after || this.after[choice.cell] !== "0") return;
    const cells = withSpawn(this.after, choice);
    this.after = null;
    this.entry.spawn = choice;
    const [token] = tokensOf(cells).filter(({ cell }) => cell === choice.cell);
    this.tokens = [...this.tokens, { ...token, spawned: true }];
    this.push(entryOf(cells));
  }

  push(entry) {
    this.entries.push(entry);
    this.at += 1;
    this.ask();
    this.notify();
  }

  /** Spawn what is worst for the player, or best: one of the spawns that leave least, or most. */
  async askSpawn() {
    const { after } = this;
    const board = boardText(after, this.info.shape);
    await this.attempt(async () => {
      const { spawns } = await get("spawns", { table: this.table, board, objective: this.objective });
      const wanted = spawns.filter((spawn) => (this.mode === "best" ? spawn.best : spawn.worst));
      const choices = wanted.length ? wanted : spawns;
      const index = Math.floor(randomFor(this.seed, this.at)() * choices.length);
      if (this.after === after) this.spawn(choices[index]);
    });
  }

  // -- answers --------------------------------------------------------------------------------

  /** Ask what the table says of the position, unless it is known. */
  async ask() {
    const { entry, objective } = this;
    if (!entry) return;
    if (entry.answer || entry.end) {
      this.shown = entry.answer || this.shown;
      return;
    }
    await this.attempt(async () => {
      const board = boardText(entry.cells, this.info.shape);
      const answer = await get("probe", { table: this.table, board, objective });
      if (objective !== this.objective) return;
      entry.answer = answer;
      if (entry === this.entry) this.answered();
      this.notify();
    });
  }

  answered() {
    this.problem = null;
    this.shown = this.entry.answer;
    const { queued } = this;
    this.queued = null;
    if (queued) this.slide(queued);
  }

  /** Run what may fail; a `Problem` becomes a sentence on the page. */
  async attempt(action) {
    try {
      await action();
    } catch (error) {
      this.problem = error.message;
      this.notify();
    }
  }

  /** Try again after a problem. */
  again() {
    this.problem = null;
    this.notify();
    if (this.after && ["best", "adversary"].includes(this.mode)) this.askSpawn();
    else this.ask();
  }

  /** Ask for all positions whose values are not known, as after loading a game. */
  async askAll() {
    const { objective } = this;
    const missing = this.entries.filter((entry) => !entry.answer && !entry.end);
    for (let at = 0; at < missing.length; at += BATCH) {
      const entries = missing.slice(at, at + BATCH);
      const boards = entries.map((entry) => boardText(entry.cells, this.info.shape));
      await this.attempt(async () => {
        const { answers } = await post("probe", { table: this.table, boards, objective: objective || null });
        if (objective !== this.objective) return;
        entries.forEach((entry, index) => {
          if (answers[index].cells) entry.answer = answers[index];
          else if (entry === this.entry) this.problem = answers[index].problem;
        });
        this.settleEnd();
        this.shown = this.entry?.answer || this.shown;
        this.notify();
      });
    }
  }

  /** If a loaded record was left after a slide that does not end the game, take this slide back. */
  settleEnd() {
    const last = this.entries[this.entries.length - 1];
    const before = this.entries[this.entries.length - 2];
    if (last.end !== UNKNOWN || !before?.answer) return;
    last.end = Game.made(before)?.ends || "";
    if (last.end) return;
    before.slide = null;
    this.entries.pop();
    if (this.at >= this.entries.length) this.goto(this.entries.length - 1);
  }

  /** Show values of another objective. */
  choose(objective) {
    if (objective === this.objective) return;
    this.objective = objective;
    for (const { entries } of [this, ...this.earlier, ...this.later]) for (const entry of entries) entry.answer = null;
    this.askAll();
    this.notify();
  }

  /** The slide that was made in a position as the server described it; null if it is not known. */
  static made(entry) {
    return entry?.slide && entry.answer ? entry.answer.slides.find((s) => s.direction === entry.slide) || null : null;
  }

  // -- written games --------------------------------------------------------------------------

  /** The game as the record that every part of tilebase reads. */
  get record() {
    const moves = this.entries.slice(0, -1).map(({ slide, spawn }) => (spawn ? [slide, spawn.cell, spawn.tile] : [slide]));
    const start = boardText(this.entries[0].cells, this.info.shape);
    return { format: "tilebase game", version: 1, game: this.info.identity || null, start, moves };
  }

  /** Load a record; throws an `Error` with a sentence if it does not fit. */
  load(record, at = null, drawn = false) {
    const entries = entriesOf(record, this.info);
    entries[0].drawn = drawn;
    this.fresh(entries, at === null ? entries.length - 1 : Math.min(at, entries.length - 1), this.seed);
    this.askAll();
  }
}

/** The positions of a record, by the plain rules whatever board is shown: a whole game may merge its large tiles. */
function entriesOf(record, info) {
  if (record?.format !== "tilebase game" || typeof record.start !== "string" || !Array.isArray(record.moves)) {
    throw new Error("This is not a saved game of tilebase. Paste replays and lists of positions into Review.");
  }
  let entry = entryOf(wordsOf(record.start));
  if (entry.cells.length !== info.cells) {
    throw new Error(`The saved game has ${entry.cells.length} cells, but the table is of ${info.game}.`);
  }
  const entries = [entry];
  record.moves.forEach(([slide, cell, tile], index) => {
    const made = info.lines[slide] && slideTokens(tokensOf(entry.cells), info.lines[slide]);
    const after = made?.moved ? cellsOf(made.tokens, entry.cells) : null;
    const ends = cell === undefined || cell === null;
    if (!after || (!ends && (!emptyCells(after).includes(cell) || !(tile > 0)))) {
      throw new Error(`Move ${index + 1} of the saved game is not possible: ${slide} and then a spawn on cell ${cell}.`);
    }
    Object.assign(entry, { slide, spawn: ends ? null : { cell, tile } });
    entry = ends ? { ...entryOf(after), end: UNKNOWN } : entryOf(withSpawn(after, { cell, tile }));
    if (ends && holdsGoal(after, info)) entry.end = "won";
    entries.push(entry);
  });
  return entries;
}
