// Addresses: which table, view and position is shown.  A route has an entry, maybe empty, for each of `NAMES`, and
// `path`, the way that was browsed, which the browser's history keeps.

import { useEffect, useState } from "./language.js";

const NAMES = ["table", "view", "board", "objective", "slide", "sum"];

/** The route of the current address. */
export function readRoute() {
  const query = new URLSearchParams(location.search);
  const route = Object.fromEntries(NAMES.map((name) => [name, query.get(name) || ""]));
  return { ...route, path: history.state?.path || [] };
}

/** The address of a route.  Commas and slashes of boards stay as they are, so that people can read them. */
export function hrefOf(route) {
  const query = new URLSearchParams(NAMES.filter((name) => route[name]).map((name) => [name, route[name]]));
  return `?${query.toString().replaceAll("%2C", ",").replaceAll("%2F", "/")}`;
}

let late = null; // the change of the address that is not made yet

/** Change the address after `wait` milliseconds, or before `go` leads elsewhere; returns what prevents it. */
export function later(change, wait) {
  const make = () => {
    cancel();
    change();
  };
  const timer = setTimeout(make, wait);
  const cancel = () => {
    clearTimeout(timer);
    if (late === make) late = null;
  };
  late = make;
  return cancel;
}

/** The route, and `go(changes, {replace})`, which goes to another one: entries that are not named stay. */
export function useRoute() {
  const [route, setRoute] = useState(readRoute);
  useEffect(() => {
    const changed = () => setRoute(readRoute());
    window.addEventListener("popstate", changed);
    return () => window.removeEventListener("popstate", changed);
  }, []);
  const go = (changes, { replace = false } = {}) => {
    late?.();
    const next = { ...readRoute(), path: [], ...changes };
    history[replace ? "replaceState" : "pushState"]({ path: next.path }, "", hrefOf(next));
    setRoute(next);
  };
  return [route, go];
}
