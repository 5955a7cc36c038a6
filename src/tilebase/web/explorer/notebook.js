// The notebook: every slide of yours that a table judged, kept in this browser for all tables and all tabs.
//
// A note is {table, key, board, slide, best, loss, of, text, from, when}.  `key` is the same for symmetric boards;
// `from` says where you slid: play, train or review.  Notes are only ever added, so that tabs do not overwrite each
// other's; what is to be practised follows from them.

import { html, t, useEffect, useRef, useState } from "./language.js";
import { BarChart } from "./chart.js";
import { MiniBoard } from "./board.js";
import { download } from "./games.js";
import { Game } from "./game.js";
import { Button, isChoice } from "./parts.js";
import { boardText, isFree, mirrored, turned, wordsOf } from "./rules.js";
import { useSetting } from "./store.js";
import { capital, count, either, lessText, percent, several, sizeOf } from "./text.js";

const RIGHT = 3; // a position is practised until it was right so often in training,
const REST = 600_000; // and so many milliseconds after it was last wrong or counted: at once proves nothing
const SHOWN = 12; // positions that are drawn
const DAYS = 30; // of the picture of accuracy
const DAY = 86_400_000;
const FORMAT = "tilebase notebook";
const VERSION = 1;
const THRESHOLDS = [[0.0001, "0.01 %"], [0.001, "0.1 %"], [0.01, "1 %"], [0.05, "5 %"]];
const FULL = "This browser keeps no more notes: export the notebook, then delete it.";
const FORBIDDEN = "This browser keeps nothing for this page, so the notebook is lost when you close it.";

/** Why the storage refused something, as a sentence. */
const wrong = (error) => (error?.name === "QuotaExceededError" ? FULL : FORBIDDEN);

// -- what is kept -------------------------------------------------------------------------------

let opened = null;

/** The database; a browser may forbid it. */
function database() {
  opened ||= new Promise((done, fail) => {
    const asked = indexedDB.open("tilebase", 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore("notes", { autoIncrement: true }).createIndex("table", "table");
    asked.onsuccess = () => done(asked.result);
    asked.onerror = () => fail(asked.error);
  });
  return opened;
}

/** Do something with the notes in one transaction; gives the result of the request that `work` returns. */
async function transact(mode, work) {
  const base = await database();
  return new Promise((done, fail) => {
    const change = base.transaction("notes", mode);
    const request = work(change.objectStore("notes"));
    change.oncomplete = () => done(request?.result);
    change.onabort = () => fail(change.error);
    change.onerror = () => fail(change.error);
  });
}

/** The notes of a table, or of all. */
export const notesOf = (table) => transact("readonly", (notes) => (table ? notes.index("table").getAll(table) : notes.getAll()));

const CHANNEL = "tilebase.notebook";
const told = new BroadcastChannel(CHANNEL);

/** Change the notes, and tell all tabs. */
async function write(work) {
  await transact("readwrite", work);
  told.postMessage("changed");
}

const addNotes = (notes) => write((store) => void notes.forEach((note) => store.add(note)));

const deleteAll = () => write((store) => store.clear());

/** Delete the notes of a table and a position. */
const deleteOf = (table, key) =>
  write((store) => {
    store.index("table").openCursor(table).onsuccess = ({ target: { result } }) => {
      if (result?.value.key === key) result.delete();
      result?.continue();
    };
  });

/** What equal notes have in common; a review can be noted twice. */
const same = ({ table, board, slide, from, when }) => [table, board, slide, from === "review" || when].join(" ");

// -- what is noted ------------------------------------------------------------------------------

/** The rotations and mirror images of a board.  One with x, or of a game with further rules, stands for itself alone. */
function imagesOf(board, info) {
  if (!isFree(info) || board.includes("x")) return [board];
  const { shape } = info;
  const turn = (text) => turned(wordsOf(text), shape);
  const half = boardText(wordsOf(board).reverse(), shape);
  const turns = shape[0] === shape[1] ? [board, turn(board), half, turn(half)] : [board, half];
  return turns.flatMap((one) => [one, mirrored(wordsOf(one), shape)]);
}

/** What symmetric boards have in common. */
const keyOf = (board, info) => imagesOf(board, info).sort()[0];

/** One of the images of a board, so that the slide itself is not learnt by heart. */
export function anyImage(board, info) {
  const images = imagesOf(board, info);
  return images[Math.floor(Math.random() * images.length)];
}

/** The note of a slide that the table judged, or null. */
function noteOf(info, answer, made, from) {
  if (!made || made.loss === null || !isChoice(answer)) return null;
  const { board, best } = answer;
  const of = sizeOf(answer.value);
  return { table: info.name, key: keyOf(board, info), board, slide: made.direction, best, loss: made.loss, of, text: made.loss_text, from, when: Date.now() };
}

/** The notes of the mistakes of a review. */
export const notesOfReview = (info, moves) =>
  moves
    .filter((move) => move.mistake && move.slides.length === 1)
    .map((move) => ({
      table: move.table || info.name, key: keyOf(move.board, info), board: move.board, slide: move.slides[0], best: move.best,
      loss: move.loss, of: sizeOf(move.value), text: move.loss_text, from: "review", when: Date.now(),
    }));

/** Add notes that are not there yet; gives how many, or throws an `Error` with a sentence. */
export async function addNew(notes) {
  try {
    const known = new Set((await notesOf()).map(same));
    const added = notes.filter((note) => !known.has(same(note)));
    await addNotes(added);
    return added.length;
  } catch (error) {
    throw new Error(wrong(error));
  }
}

/** Call `act` with the entries of your slides in a game, each once, as soon as the table has answered for it. */
export function useOwnSlides(game, act) {
  const seen = useRef(new Set());
  useEffect(() => {
    const found = game.entries.filter((entry) => entry.own && Game.made(entry) && !seen.current.has(entry));
    found.forEach((entry) => seen.current.add(entry));
    if (found.length) act(found);
  });
}

/** Note your slides of a game; returns what is wrong with the storage. */
export function useNoting(game, from) {
  const [problem, tell] = useState("");
  useOwnSlides(game, (entries) => {
    const notes = entries.map((entry) => noteOf(game.info, entry.answer, Game.made(entry), from)).filter(Boolean);
    if (notes.length) addNotes(notes).then(() => tell(""), (error) => tell(wrong(error)));
  });
  return problem;
}

/** The notes of a table, as they are after each change in any tab: {notes, problem}. */
function useNotes(table) {
  const [state, setState] = useState({ notes: [], problem: "" });
  useEffect(() => {
    let current = true;
    const read = () => notesOf(table).then((notes) => current && setState({ notes, problem: "" }), () => current && setState({ notes: [], problem: FORBIDDEN }));
    const heard = new BroadcastChannel(CHANNEL);
    heard.onmessage = read;
    read();
    return () => {
      current = false;
      heard.close();
    };
  }, [table]);
  return state;
}

// -- what is to be practised --------------------------------------------------------------------

const isMistake = (note, least) => note.loss > 0 && note.loss >= least * note.of;

/**
 * The positions with a mistake that were not right three times since, at times that `REST` separates.  Those that rest
 * are last; else what matters most is first: by the part of the value that was lost, how often, and how long ago.
 */
function positionsOf(notes, least) {
  const now = Date.now();
  const found = new Map();
  for (const note of notes) {
    const one = found.get(note.key) || { key: note.key, times: 0, right: 0, worst: null, last: 0, rests: 0 };
    if (isMistake(note, least)) {
      const worse = !one.worst || note.loss > one.worst.loss;
      found.set(note.key, { ...one, times: one.times + 1, right: 0, worst: worse ? note : one.worst, last: note.when, rests: note.when + REST });
    } else if (one.worst) {
      const right = note.from === "train" && note.loss === 0 && note.when >= one.rests;
      found.set(note.key, { ...one, right: one.right + right, last: note.when, rests: right ? note.when + REST : one.rests });
    }
  }
  const weight = ({ worst, times, last }) => (worst.loss / (worst.of || 1)) * times * (1 + (now - last) / DAY);
  const open = [...found.values()].filter((one) => one.right < RIGHT);
  return open.sort((one, other) => (one.rests > now) - (other.rests > now) || weight(other) - weight(one));
}

/** For each of the last days, how many slides were judged, and how many of these were mistakes. */
function daysOf(notes, least) {
  const today = Math.floor(Date.now() / DAY);
  const days = Array.from({ length: DAYS }, (_, index) => ({ day: today - DAYS + 1 + index, slides: 0, mistakes: 0 }));
  for (const note of notes.filter(({ from }) => from === "train")) { // in play, values are seen
    const day = days[Math.floor(note.when / DAY) - days[0].day];
    if (!day) continue;
    day.slides += 1;
    day.mistakes += isMistake(note, least);
  }
  return days;
}

export const clock = (time) => new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

function Accuracy({ notes, least }) {
  const days = daysOf(notes, least);
  const bars = days.map(({ slides, mistakes }, index) => ({ from: index, to: index + 1, count: slides ? (100 * (slides - mistakes)) / slides : 0 }));
  const slides = days.reduce((sum, one) => sum + one.slides, 0);
  const right = slides - days.reduce((sum, one) => sum + one.mistakes, 0);
  if (!slides) return null;
  const label = `Training: slides without a mistake on each of the last ${DAYS} days: ${percent(right / slides)} of ${count(slides)} in all.`;
  return html`<figure><figcaption class="quiet">${label}</figcaption><${BarChart} bars=${bars} most=${100} label=${label} left="${DAYS} days ago" right="today" /></figure>`;
}

/** The notes of a file, as `Notebook` exports it.  Throws an `Error` with a sentence. */
function imported(text) {
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    found = null;
  }
  const texts = ["table", "key", "board", "slide", "text", "from"];
  const whole = (note) => texts.every((name) => typeof note?.[name] === "string") && ["loss", "of", "when"].every((name) => Number.isFinite(note[name])) && Array.isArray(note.best);
  if (found?.format !== FORMAT || found.version !== VERSION || !Array.isArray(found.notes) || !found.notes.every(whole)) throw new Error("This file is not a notebook that was exported here.");
  return found.notes;
}

/** props: the table's `info`, and `onTry(positions)` to practise some of `positionsOf`. */
export function Notebook({ info, onTry }) {
  const [least, setLeast] = useSetting("notebook.least", 0.001);
  const [said, say] = useState("");
  const { notes, problem } = useNotes(info.name);
  const positions = positionsOf(notes, least);
  const save = async () => download("tilebase-notebook.json", JSON.stringify({ format: FORMAT, version: VERSION, notes: await notesOf() }));
  const read = async (event) => {
    const [file] = event.target.files;
    event.target.value = "";
    try {
      const found = imported(await file.text());
      const none = found.some(({ table }) => table === info.name) ? "" : " None of them is of this table.";
      say(`${several(await addNew(found), "note")} added.${none}`);
    } catch (error) {
      say(error.message);
    }
  };
  const forget = () => confirm(t("Delete all notes, of every table?")) && deleteAll().then(() => say("The notebook is empty."), () => say(FORBIDDEN));
  return html`<section class="card mistakes" aria-labelledby="notebook">
    <div class="titles tight"><h2 id="notebook">Notebook</h2>
      ${positions.length > 0 && html`<${Button} kind="main" icon="play" onClick=${() => onTry(positions)}>Practise<//>`}
    </div>
    <p class="quiet">${problem || (notes.length ? `${several(notes.length, "slide")} of yours with this table. ${several(positions.length, "position")} to practise: each comes back until you were right ${RIGHT} times, at least ${REST / 60_000} minutes apart.` : "Your slides are kept here, in this browser. Positions in which you lose something come back.")}</p>
    <details><summary>Threshold, export, import, delete</summary>
      <label class="field inline"><span>A mistake loses at least</span>
        <select value=${least} onChange=${(event) => setLeast(+event.target.value)}>
          ${THRESHOLDS.map(([value, text]) => html`<option value=${value} selected=${value === least}>${text} of the value</option>`)}
        </select>
      </label>
      <div class="bar-of-buttons">
        <${Button} onClick=${save}>Export<//>
        <label class="button file"><input type="file" accept=".json,application/json" onChange=${read} /><span>Import</span></label>
        <${Button} onClick=${forget}>Delete<//>
      </div>
    </details>
    <p class="said" role="status">${said}</p>
    <ul class="boards">
      ${positions.slice(0, SHOWN).map(
        ({ key, worst, times, right, rests }) => html`<li key=${key}>
          <${MiniBoard} cells=${wordsOf(worst.board)} shape=${info.shape} />
          <p><b class="loss-text">${lessText(worst.text)}</b>${times > 1 && `, ${times} mistakes`}${right > 0 && `, correct ${several(right, "time")} since`}${rests > Date.now() && `, counts again from ${clock(rests)}`}</p>
          <details><summary>Answer</summary>${capital(worst.slide)} lost ${worst.text}. Best was ${either(worst.best)}.</details>
          <div class="bar-of-buttons">
            <${Button} onClick=${() => onTry([{ worst, rests }])}>Play again<//>
            <${Button} icon="close" kind="plain" label="Remove" onClick=${() => deleteOf(info.name, key)} />
          </div>
        </li>`,
      )}
    </ul>
    ${positions.length > SHOWN && html`<p class="quiet">The first ${SHOWN} are shown.</p>`}
    <${Accuracy} notes=${notes} least=${least} />
  </section>`;
}
