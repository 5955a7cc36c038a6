// Saving and loading games: files, pasted text, and what this browser keeps.

import { html, useState } from "./language.js";
import { Button } from "./parts.js";
import { recall, remember } from "./store.js";
import { several } from "./text.js";

const MOST_SAVED = 40;

/** Give a text to the browser as a file. */
export function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** The game of a text, as it was saved.  Throws an `Error` with a sentence. */
function recordOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("This text is not a saved game of tilebase. Paste replays and lists of positions into Review.");
  }
}

export function SavedGames({ game }) {
  const [saved, setSaved] = useState(() => recall("games", []));
  const [text, setText] = useState("");
  const [said, say] = useState("");
  const mine = saved.filter((one) => one.table === game.table);
  const store = (list) => {
    setSaved(list);
    return remember("games", list);
  };
  const save = () => {
    const name = `${new Date().toISOString().slice(0, 16).replace("T", " ")}, ${several(game.record.moves.length, "move")}`;
    const kept = store([{ name, table: game.table, record: game.record }, ...recall("games", [])].slice(0, MOST_SAVED));
    say(kept ? "Saved in this browser." : "This browser keeps nothing: download the game instead.");
  };
  const load = (record) => {
    try {
      game.load(typeof record === "string" ? recordOf(record) : record);
      say("Loaded.");
    } catch (error) {
      say(error.message);
    }
  };
  const choose = async (event) => {
    const [file] = event.target.files;
    if (file) load(await file.text());
    event.target.value = "";
  };
  return html`<details class="games">
    <summary>Save and load games</summary>
    <div class="bar-of-buttons">
      <${Button} onClick=${save}>Save in this browser<//>
      <${Button} onClick=${() => download(`${game.table}.game.json`, JSON.stringify(game.record))}>Download<//>
      <label class="button file"><input type="file" accept=".json,.txt,application/json,text/plain" onChange=${choose} /><span>Load a file</span></label>
    </div>
    ${mine.length > 0 &&
    html`<label class="field"><span>Saved games</span>
      <select onChange=${(event) => event.target.value && load(mine[+event.target.value].record)}>
        <option value="">Choose …</option>
        ${mine.map((one, index) => html`<option value=${index}>${one.name}</option>`)}
      </select>
    </label>`}
    <label class="field"><span>Paste a saved game</span>
      <textarea rows="2" spellcheck=${false} value=${text} onInput=${(event) => setText(event.target.value)}></textarea>
    </label>
    <${Button} disabled=${!text.trim()} onClick=${() => load(text)}>Load the text<//>
    <p class="said" role="status">${said}</p>
  </details>`;
}
