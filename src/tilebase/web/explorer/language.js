// The language of the page.  Texts are written in English where they are used; zh.json has the Chinese of each.
//
// In a text of the catalogue, {} stands for a text without punctuation, {*} for part of a sentence, {#} for a number, and
// an ending such as [s] may be missing.  What elements show is looked up when they are made: as a whole, else by its
// sentences, else by smaller parts.  So texts that the page composes are found, and also those of the server.  A text of
// which a part is not found stays in English.

import { html as build } from "./vendor/htm-preact.js";
import { recall, remember } from "./store.js";

export * from "./vendor/htm-preact.js";

/** "en" or "zh": what was chosen, else what the browser prefers. */
export const language = recall("language", navigator.language.startsWith("zh") ? "zh" : "en");

/** Choose another language; the page is loaded again. */
export function speak(other) {
  remember("language", other);
  location.reload();
}

/** The catalogue: an exported page holds it, a server sends it. */
async function load() {
  const held = document.getElementById("zh");
  return held ? JSON.parse(held.textContent) : (await fetch(new URL("zh.json", import.meta.url))).json();
}

const catalogue = language === "zh" ? Object.entries(await load().catch(() => ({}))) : []; // without it, English is shown

const HOLES = { "{}": "((?:(?!(?<!\\.\\.)[.,;:!?] | · ).)+?)", "{*}": "((?:(?!(?<!\\.\\.)[.!?] ).)+?)", "{#}": "([\\d.,]+[万亿]*)" };

const PARTS = /\{[*#]?\}|\[(\w+)\]|[.*+?^$|()[\]\\]/g;

function patternOf(text) {
  const parts = text.replace(PARTS, (part, ending) => HOLES[part] || (ending ? `(?:${ending})?` : `\\${part}`));
  return new RegExp(`^${parts}$`, "is");
}

const whole = new Map(catalogue.map(([text, chinese]) => [text.toLowerCase(), chinese]));
const letters = (text) => text.replace(/\{.?\}|\[\w+\]/g, "").length;
const patterns = catalogue
  .filter(([text]) => /[{[]/.test(text))
  .sort(([one], [other]) => letters(other) - letters(one)) // the most exact first
  .map(([text, chinese]) => [patternOf(text), chinese]);

const joined = (joint) => (parts) => parts.map(t).join(joint);
const isListed = (part) => /^(\S+|large tile)$/.test(part); // a name or a number, and no clause
const CUTS = [
  [/(?<=[.!?…]) +/, joined("")], ["; ", joined("；")], [" · ", joined(" · ")],
  [/ ?\(([^()]+)\)/, (parts) => parts.map((part, index) => (index % 2 ? `（${t(part)}）` : t(part))).join("")],
  [": ", joined("：")], [" or ", joined("或")], [" and ", joined("和")],
  [", ", (parts) => joined(parts.every(isListed) ? "、" : "，")(parts)], ["=", joined("=")],
];
const MARKS = { ".": "。", ",": "，", ":": "：", ";": "；", "?": "？", "!": "！" };
const marks = (text) => text.replace(/ ?([.,:;?!]) ?/g, (_, mark) => MARKS[mark]);

const GAPS = /(?<=[，。：；？！、（）“”]) (?=[^ ·])| (?=[，。：；？！、（）“”…])|(?<=\p{Script=Han}) (?=\p{Script=Han})/gu;
const EDGES = /(?<=\p{Script=Han})(?=[A-Za-z0-9≈−+])|(?<=[A-Za-z0-9%])(?=(?![万亿])\p{Script=Han})/gu;

/** A text with one space between Chinese and other words or numbers, and none beside Chinese marks. */
const spaced = (text) => text.replace(GAPS, "").replace(EDGES, " ");

/** The Chinese of a text without marks at its ends, or the text. */
function found(text) {
  const known = whole.get(text.toLowerCase());
  if (known !== undefined) return known;
  for (const [pattern, chinese] of patterns) {
    const [all, ...holes] = pattern.exec(text) || [];
    let next = 0;
    if (all !== undefined) return chinese.replace(/\{(\d?)\}/g, (_, index) => t(holes[index === "" ? next++ : index]));
  }
  const [at, join] = CUTS.find(([at]) => text.split(at).length > 1) || [];
  return at ? join(text.split(at)) : text;
}

const ENGLISH = /\b[a-z]{2,} (a )?[a-z]{2,}\b/; // a sentence of which only parts are found stays whole

const SIZES = { million: 1e6, billion: 1e9, trillion: 1e12, quadrillion: 1e15 };

/** A number as this language writes it in little space: 1.2M, 120万. */
export const brief = (number, digits = { maximumFractionDigits: 1 }) =>
  Intl.NumberFormat(language === "zh" ? "zh-CN" : "en-US", { notation: "compact", ...digits }).format(number);

function inChinese(text) {
  const sized = text.replace(/([\d.]+) (million|billion|trillion|quadrillion)/g, (_, number, size) => brief(number * SIZES[size], { maximumSignificantDigits: 3 }));
  const plain = sized.replace(/(\d) %/g, "$1%");
  if (!/[a-z]{2}/i.test(plain)) return /[([]/.test(plain) ? plain : plain.replaceAll(", ", "、");
  const [, before, core, behind] = /^([\s.,:;◆]*)(.*?)([\s.,:;?!]*…?)$/s.exec(plain);
  const chinese = whole.get(plain.trim().toLowerCase()) ?? found(core);
  if (chinese === core || ENGLISH.test(chinese.replace(/tilebase \w+/g, ""))) return plain;
  return spaced(`${marks(before)}${chinese}${marks(behind)}`);
}

const known = new Map();

/** A text in the language of the page. */
export function t(text) {
  if (language === "en") return text;
  if (known.size > 10_000) known.clear();
  if (!known.has(text)) known.set(text, inChinese(text));
  return known.get(text);
}

const SHOWN = ["alt", "aria-label", "aria-valuetext", "placeholder", "title"];
const isText = (child) => typeof child === "string" || typeof child === "number";
const isNothing = (child) => child === null || child === undefined || typeof child === "boolean";
const seen = new WeakSet();

/** Children of an element in the language of the page; texts beside each other are one text. */
function inLanguage(child) {
  if (isText(child)) return t(String(child));
  if (!Array.isArray(child)) return translate(child);
  const children = child.map((one) => (isNothing(one) ? "" : one)); // as many as before, so that none is drawn anew
  for (let at = children.length - 1; at > 0; at--) {
    if (isText(children[at - 1]) && isText(children[at])) [children[at - 1], children[at]] = [`${children[at - 1]}${children[at]}`, ""];
  }
  const shown = children.map(inLanguage);
  return shown.map((one, at) => (isText(one) && at > 0 ? after(endOf(shown[at - 1]), one) : one));
}

/** A text as it follows an element that ends with a character. */
const after = (end, text) => spaced(end + text).slice(end.length);

/** The last character of an element; nothing if it is a space. */
function endOf(node) {
  if (isText(node)) return String(node).slice(-1).trim();
  if (Array.isArray(node)) return endOf(node.findLast((one) => one !== ""));
  return typeof node?.type === "string" ? endOf(node.props.children) : "";
}

function translate(node) {
  if (!node?.props || seen.has(node) || node.type === "code") return node;
  seen.add(node);
  const { props } = node;
  if (typeof node.type === "string") for (const name of SHOWN) if (props[name]) props[name] = t(props[name]);
  if (props.children !== undefined) props.children = inLanguage(props.children);
  return node;
}

/** Elements from a template, as htm has it, with their texts in the language of the page. */
export const html = language === "en" ? build : (...template) => inLanguage(build(...template));

document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
