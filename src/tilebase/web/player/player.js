// The page that plays packed values: the views of the explorer, without a server.

import { html, render, t, useEffect, useState } from "../explorer/language.js";
import { answerWith } from "../explorer/api.js";
import { Button, Looks, Notice, ViewLinks } from "../explorer/parts.js";
import { Play } from "../explorer/play.js";
import { hrefOf, useRoute } from "../explorer/route.js";
import { useSetting } from "../explorer/store.js";
import { count } from "../explorer/text.js";
import { Trainer } from "../explorer/trainer.js";
import { Answers } from "./answers.js";
import { Policy, PolicyError } from "./policy.js";

const VIEWS = { play: Play, train: Trainer };
const NAMES = [["play", "Play"], ["train", "Train"]];
const LOCAL = location.protocol === "file:";

/** How many of some games come to a position, in words: "about 1 in 120 comes". */
function come(share) {
  if (share > 0.2) return `about ${Math.round(100 * share)} % come`;
  const games = 1 / share;
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(games)) - 1);
  return `about 1 in ${count(Math.round(games / unit) * unit)} comes`;
}

/** A size: ``640 kB``, ``12 MB``. */
const sizeText = (bytes) => (bytes < 2e6 ? `${count(Math.ceil(bytes / 1e3))} kB` : `${count(Math.round(bytes / 1e6))} MB`);

/** The percent of the file that are here, while a host that sends no parts of files sends all of it; else null. */
function Loading({ file }) {
  const [percent, setPercent] = useState(null);
  useEffect(() => {
    file.tell = (share) => setPercent(share === null ? null : Math.floor(100 * share));
  }, [file]);
  if (percent === null) return null;
  return html`<div class="loading">
    <p>Loading the values once, since this host sends no parts of files: ${percent} % of ${sizeText(file.size)}</p>
    <progress max="100" value=${percent} aria-label="Loading the values"></progress>
  </div>`;
}

/** A browser does not let a page that is opened as a file read the file beside it: the player chooses it. */
function Chooser({ file, onReady }) {
  const [problem, tell] = useState("");
  const choose = (event) => {
    try {
      file.choose(event.target.files[0]);
      onReady();
    } catch (error) {
      tell(error.message);
    }
  };
  return html`<section class="card" aria-label="Values">
    <p>You opened this page as a file. Choose the file <b>${file.name}</b>, which lies beside it.</p>
    <label class="button main file"><input type="file" accept=".bin" onChange=${choose} /><span>Choose the file</span></label>
    ${problem && html`<${Notice}>${problem}<//>`}
  </section>`;
}

/** Keeps page and values on this device. */
function Offline({ file }) {
  const [state, setState] = useState("");
  useEffect(() => void file.isKept().then((kept) => kept && setState("kept")), [file]);
  if (LOCAL || !globalThis.caches || !navigator.serviceWorker) return null;
  const keep = () => {
    setState("busy");
    file.keep().then(() => setState("kept"), (error) => setState(error instanceof PolicyError ? error.message : "This browser does not keep it."));
  };
  return html`<p class="quiet" role="status">${state === "kept"
    ? "This page is kept on this device: it works without a connection."
    : html`<${Button} disabled=${state === "busy"} onClick=${keep}>${state === "busy" ? "Keeping …" : `Keep for use without a connection (${sizeText(file.size)})`}<//> ${state !== "busy" && state}`}</p>`;
}

/** What the page holds, and what it does not. */
function About({ header, file }) {
  const { objective, start, states, thinned, leaves, program } = header;
  return html`<section class="card about" aria-label="About">
    <p><b title=${start.text}>${start.short}</b>: ${objective.text} from the start, if a best slide is always made.</p>
    <p>The page knows the best slides of ${count(states)} positions, not counting rotated and mirrored ones. They are those of the table. Values lie in the ranges that are shown; losses and grades follow from the middle of these.</p>
    ${thinned && html`<p>${leaves > 0
      ? `These are positions that well played games visit. Of the games that autoplay plays, ${come(leaves)} to a position that is not here.`
      : "Some positions were left out, but no game that makes the best slides comes to them."}</p>`}
    <${Offline} file=${file} />
    <p class="quiet">Made with tilebase ${program}. Keys: arrows or W A S D slide, Space starts and stops the autoplay, Z undoes, Y redoes, N begins a new game.</p>
  </section>`;
}

function App({ policy }) {
  const { header, file } = policy;
  const [route, go] = useRoute();
  const [ready, setReady] = useState(!LOCAL);
  const [digits, setDigits] = useSetting("digits", false);
  const view = VIEWS[route.view] ? route.view : "play";
  const View = VIEWS[view];
  const { label, unit } = header.objective;
  return html`<div class="player">
    <header><h1>${document.title}</h1><div class="corner"><${Looks} /></div><${ViewLinks} names=${NAMES} current=${view} href=${(one) => hrefOf({ ...route, view: one })} onView=${(one) => go({ view: one })} /></header>
    <main>
      <${Loading} file=${file} />
      ${ready
        ? html`<${View} info=${header.info} route=${route} go=${go} objective=${label} unit=${unit} digits=${digits} setDigits=${setDigits} />`
        : html`<${Chooser} file=${file} onReady=${() => setReady(true)} />`}
      <${About} header=${header} file=${file} />
    </main>
  </div>`;
}

const place = document.getElementById("app");
const header = JSON.parse(document.getElementById("policy").textContent);
const policy = new Policy(header);
const answers = new Answers(policy);
answerWith((url, options) => answers.ask(url, options));
place.replaceChildren();
document.title = t(document.title);
if (typeof DecompressionStream === "undefined") render(html`<${Notice}>This browser is too old for this page: it needs one of 2024 or later.<//>`, place);
else render(html`<${App} policy=${policy} />`, place);
if (navigator.serviceWorker?.controller) navigator.serviceWorker.register("worker.js"); // a newer one, if there is one
