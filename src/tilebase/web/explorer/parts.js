// Pieces that several views use.

import { html, language, speak, useEffect, useRef, useState } from "./language.js";
import { useSetting } from "./store.js";
import { apart, capital, either, lessText, numberOf, sizeOf, valueText } from "./text.js";

const PATHS = {
  left: "M19 12H5m6-6-6 6 6 6",
  right: "M5 12h14m-6-6 6 6-6 6",
  up: "M12 19V5m-6 6 6-6 6 6",
  down: "M12 5v14m6-6-6 6-6-6",
  front: "M17 7 7 17m0-8v8h8",
  back: "M7 17 17 7m0 8V7H9",
  before: "m11 5-7 7 7 7m9-14-7 7 7 7",
  behind: "m13 5 7 7-7 7M4 5l7 7-7 7",
  undo: "M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3",
  redo: "m15 14 5-5-5-5m5 5H10a6 6 0 0 0 0 12h3",
  new: "M12 5v14M5 12h14",
  again: "M4 12a8 8 0 1 0 2.5-5.8L4 8.5M4 4v4.5h4.5",
  play: "M7 5v14l12-7z",
  pause: "M8 5v14M16 5v14",
  link: "M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-6-6l-1 1m2 3.5a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 6 6l1-1",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  check: "m5 12 5 5 9-10",
  close: "M6 6l12 12M18 6 6 18",
  theme: "M12 3v18M12 3a9 9 0 0 1 0 18M12 3a9 9 0 0 0 0 18M12 8h7.5M12 13h9M12 18h6",
};

export const Icon = ({ name }) => html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;

/** A button with an icon and a text; `label` replaces the text for screen readers. */
export function Button({ icon, children, label, kind = "", ...others }) {
  const title = label && { "aria-label": label, title: label };
  return html`<button type="button" class=${`button ${kind}`} ...${title} ...${others}>
    ${icon && html`<${Icon} name=${icon} />`}${children && html`<span>${children}</span>`}
  </button>`;
}

const NEXT = { auto: "light", light: "dark", dark: "auto" };

/** The colours and the language of the page. */
export function Looks() {
  const [theme, setTheme] = useSetting("theme", "auto");
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }, [theme]);
  const [other, name] = language === "zh" ? ["en", "English"] : ["zh", "中文"];
  return html`<${Button} icon="theme" kind="plain" label=${`Colours: ${theme}. Change to ${NEXT[theme]}.`} onClick=${() => setTheme(NEXT[theme])} />
    <button type="button" class="button plain" lang=${other} title=${name} onClick=${() => speak(other)}>${other === "en" ? "EN" : name}</button>`;
}

/** Links to views, of which `names` are [view, name]; `onView(view)` is called for a click that opens no other tab. */
export function ViewLinks({ names, current, href, onView }) {
  const follow = (view) => (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    onView(view);
  };
  return html`<nav aria-label="Views">
    ${names.map(([view, name]) => html`<a href=${href(view)} aria-current=${view === current ? "page" : undefined} onClick=${follow(view)}>${name}</a>`)}
  </nav>`;
}

/** A sentence about what went wrong, with a way to go on. */
export const Notice = ({ children, again, onClose }) => html`<div class="notice problem" role="alert">
  <p>${children}</p>
  ${again && html`<${Button} icon="again" onClick=${again}>Try again<//>`}
  ${onClose && html`<${Button} icon="close" kind="plain" label="Close" onClick=${onClose} />`}
</div>`;

/** A switch that stays where it is put. */
export const Toggle = ({ checked, onChange, children }) => html`<label class="toggle">
  <input type="checkbox" checked=${checked} onChange=${(event) => onChange(event.target.checked)} />
  <span>${children}</span>
</label>`;

/** Give up the focus after a click, so that arrow keys slide again; who came by keyboard keeps it. */
export const letGo = (event) => event.detail > 0 && event.target.blur();

/** A choice of one of a few: options are [value, text]. */
export function Choice({ name, label, value, options, onChange }) {
  return html`<fieldset class="choice">
    <legend>${label}</legend>
    <div>
      ${options.map(
        ([one, text]) => html`<label>
          <input type="radio" name=${name} value=${one} checked=${one === value} onChange=${() => onChange(one)} onClick=${letGo} />
          <span>${text}</span>
        </label>`,
      )}
    </div>
  </fieldset>`;
}

/** How far a table is that is being solved. */
export function SolvingProgress({ table }) {
  const { text, fraction } = table.progress || {};
  return html`<progress max="1" value=${fraction ?? undefined} aria-label="Progress"></progress>
    <p role="status">${text || "Starting …"}</p>`;
}

/** What a screen reader says when it changes. */
export const Live = ({ children }) => html`<div class="hidden" role="status" aria-live="polite">${children}</div>`;

/** Numbers with their names. */
export const Facts = ({ items }) => html`<dl class="facts">
  ${items.filter(Boolean).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
</dl>`;

/** Call `handler(key, event)` for keys that are not typed into a field; it returns true if the key was used. */
export function useKeys(handler) {
  const latest = useRef();
  latest.current = handler;
  useEffect(() => {
    const pressed = (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || typing(event) || document.querySelector("dialog[open]")) return;
      const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      if (latest.current(key, event)) event.preventDefault();
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);
}

/** Whether a key is typed into a field, chooses a radio button, or scrolls the list that has the focus. */
function typing({ target, key }) {
  if (!(target instanceof Element)) return false;
  if (target.matches("textarea, select, input:not([type=radio]):not([type=checkbox])")) return true;
  const list = target.closest(".scroll");
  const vertical = ["ArrowUp", "ArrowDown"].includes(key);
  const scrolls = list && (vertical ? list.scrollHeight > list.clientHeight : list.scrollWidth > list.clientWidth);
  return key.startsWith("Arrow") && (target.matches("input[type=radio]") || scrolls);
}

const KEYS = {
  ArrowLeft: "left", a: "left", ArrowRight: "right", d: "right", ArrowUp: "up", w: "up", ArrowDown: "down", s: "down",
  r: "front", PageUp: "front", f: "back", PageDown: "back",
};

/** The direction of a key, if this game has it. */
export const directionOf = (key, directions) => (directions.includes(KEYS[key]) ? KEYS[key] : null);

// -- values of slides ---------------------------------------------------------------------------

const DECADES = 6; // of the scale of the largest loss in a position, which ends at a millionth of the value;
const SHORTEST = 0.3; // but the bar of that loss is at least as long as this
const SPREAD = 1.5; // least decades of the scale of the other losses beside it

/**
 * The lengths of the bars of slides, logarithmic: that of the largest loss by the part of the value that it is, the
 * others beside it by the part of that loss that they are, so that they differ however small all of them are.
 */
function barsOf(answer) {
  const losses = (answer?.slides || []).map(({ loss, best }) => (best ? 0 : loss)).filter((loss) => loss > 0);
  const most = Math.max(...losses);
  const longest = Math.min(1, Math.max(SHORTEST, 1 + Math.log10(most / (sizeOf(answer?.value) || 1)) / DECADES));
  const spread = Math.max(SPREAD, 1 + Math.log10(most / Math.min(...losses)));
  return (slide) => (losses.includes(slide?.loss) ? `${100 * longest * (1 + Math.log10(slide.loss / most) / spread)}%` : null);
}

function Slide({ direction, slide, text, bar, answer, digits, unit, onSlide, chosen, hideValues }) {
  const allowed = !answer || slide;
  const best = slide?.best;
  const loss = slide && !slide.best && slide.loss !== null ? (unit === "yes-no" ? "loses the win" : lessText(slide.loss_text)) : "";
  return html`<li>
    <button type="button" class=${`slide${best ? " best" : ""}${chosen ? " chosen" : ""}`} aria-disabled=${!allowed} onClick=${() => allowed && onSlide?.(direction)}>
      <${Icon} name=${direction} />
      <span class="name">${capital(direction)}${chosen && html` <em>your slide</em>`}</span>
      <span class="number">${slide && !hideValues ? (slide.value ? (digits && slide.value.text) || text || slide.value.short : slide.ends || "–") : ""}</span>
      <span class=${`loss${slide && !best && !slide.mistake ? " slight" : ""}`}>${best ? html`<${Icon} name="check" /><b>best</b>` : loss}${!allowed && (answer.refused?.[direction] || "not allowed")}</span>
      ${bar && html`<i class="bar" style=${`width:${bar}`}></i>`}
    </button>
  </li>`;
}

/** The slides of a position with their values; each is a button. `stale` values are dimmed. */
export function Slides({ info, answer, digits, unit, onSlide, stale, chosen, hideValues }) {
  const of = (direction) => answer?.slides.find((slide) => slide.direction === direction);
  const slide = (direction) => {
    const found = of(direction);
    const hidden = hideValues ? { value: null, best: false, loss: null, ends: "" } : doubtOf(answer) ? { best: false } : {};
    return found && { ...found, ...hidden };
  };
  const known = (answer?.slides || []).filter(({ value }) => value?.kind === "rounded");
  const texts = apart(known.map(({ value }) => numberOf(value)), unit);
  const barOf = barsOf(answer);
  const textOf = (direction) => {
    const at = known.findIndex((one) => one.direction === direction);
    return at >= 0 && texts[at].includes("%") && texts[at].length > known[at].value.short.length ? texts[at] : "";
  };
  return html`<ul class=${`slides${stale ? " stale" : ""}${digits ? " digits" : ""}`} aria-busy=${Boolean(stale)} aria-label="Slides">
    ${info.directions.map(
      (direction) => html`<${Slide} key=${direction} direction=${direction} slide=${slide(direction)} text=${textOf(direction)} bar=${barOf(slide(direction))} answer=${stale ? null : answer}
        digits=${digits} unit=${unit} onSlide=${onSlide} chosen=${chosen === direction} hideValues=${hideValues} />`,
    )}
  </ul>`;
}

/** Whether a slide can be judged: the best ones are known, and another one is allowed. */
export const isChoice = ({ best, slides }) => best.length > 0 && slides.length > 1;

/** Why the values of a position may be wrong, in a note of its answer (`Answer.doubt`); undefined if they are not. */
export const doubtOf = (answer) => answer?.notes?.find((note) => note.startsWith("large tiles are"));

/** Why no slide of a position is judged, in a note of its answer; undefined if one is. */
const reasonOf = ({ slides, notes }) => (slides.every(({ loss }) => loss === null) ? notes?.find((note) => /^(large tiles are|the table ends)/.test(note)) : undefined);

/** What a slide lost, in a sentence. */
export function verdict(entry, made) {
  if (!made || !entry.answer.best.length) return "";
  if (!isChoice(entry.answer)) return `${capital(made.direction)} was the only slide.`;
  const why = reasonOf(entry.answer);
  if (why) return `${capital(made.direction)} is not judged: ${why}.`;
  if (made.loss === null) return `The table does not know what ${made.direction} lost.`;
  if (made.best) return `${capital(made.direction)} was ${entry.answer.best.length > 1 ? "one of the best slides" : "the best slide"}.`;
  const least = made.value?.kind === "below" ? "≥ " : "";
  return `${capital(made.direction)} lost ${least}${made.loss_text}. Best was ${either(entry.answer.best)}.`;
}

/** The value of a position as a headline, with the switch for all its digits: `answer` is {value, meaning}. */
export function Headline({ answer, digits, setDigits, stale }) {
  const text = answer ? valueText(answer.value, digits) : "…";
  const doubt = doubtOf(answer);
  return html`${doubt && html`<div class="notice problem" role="note"><p>Do not trust these values: ${doubt}.</p></div>`}
    <div class=${`headline${stale ? " stale" : ""}${text.length > 12 ? " long" : ""}`}>
    <strong>${text}</strong>
    <span>${answer?.meaning}</span>
    ${setDigits && html`<${Toggle} checked=${digits} onChange=${setDigits}>All digits<//>`}
  </div>`;
}

export const sentence = (text) => `${capital(text)}${/[.!?]$/.test(text) ? "" : "."}`;

/** How a real board was turned to be read, in words; nothing if it was not. */
export const turnedOf = ({ orientation }) => (orientation && orientation !== "as given" ? `read ${orientation}` : "");

/** Sentences that belong to a position: what the table does not hold, large tiles, notes; a doubt is a headline's. */
export function Notes({ answer }) {
  if (!answer) return null;
  const large = answer.large_tiles?.length ? `Large tiles: ${answer.large_tiles.join(", ")}${turnedOf(answer) && `, ${turnedOf(answer)}`}.` : null;
  const notes = [answer.problem, large, ...(answer.notes || []).filter((note) => note !== doubtOf(answer))].filter(Boolean);
  if (!notes.length) return null;
  return html`<div class="notes" role="note">${notes.map((note) => html`<p>${sentence(note)}</p>`)}</div>`;
}

/** A text that can be copied; it says when it was. */
export function CopyLink() {
  const [said, say] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      say("Copied");
    } catch {
      say("Copy the address of this page");
    }
    setTimeout(() => say(""), 3000);
  };
  return html`<${Button} icon="link" onClick=${copy}>${said || "Copy link"}<//>`;
}
