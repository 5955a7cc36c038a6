// What the browser remembers: settings and games for all tabs, the game in progress for this tab alone.

import { useState } from "./vendor/htm-preact.js";

const PREFIX = "tilebase.";

/** What is stored under a name, or `other`.  A browser may refuse storage; then nothing is remembered. */
export function recall(name, other, storage = "localStorage") {
  try {
    const text = window[storage].getItem(PREFIX + name);
    return text === null ? other : JSON.parse(text);
  } catch {
    return other;
  }
}

/** Store a value; return whether the browser took it. */
export function remember(name, value, storage = "localStorage") {
  try {
    window[storage].setItem(PREFIX + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/** A setting that is remembered, as a hook. */
export function useSetting(name, initial, storage = "localStorage") {
  const [kept, keep] = useState({});
  const change = (value) => {
    remember(name, value, storage);
    keep({ name, value });
  };
  return [kept.name === name ? kept.value : recall(name, initial, storage), change];
}
