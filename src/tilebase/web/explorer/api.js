// Requests to the server.  A failure is a `Problem` whose message is one sentence for the reader.

import { useEffect, useRef, useState } from "./language.js";

export class Problem extends Error {}

const SILENT = "The server does not answer. Start it again with tilebase serve, then try again.";

async function sentence(response) {
  try {
    const problem = await response.json();
    return problem.detail || problem.title;
  } catch {
    return `The server answers with the error ${response.status} and gives no reason.`;
  }
}

let request = overHttp;

/** Let a function of an address and the options of `fetch` answer in place of a server. */
export function answerWith(other) {
  request = other;
}

async function overHttp(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Problem(SILENT);
  }
  if (!response.ok) throw new Problem(await sentence(response));
  try {
    return await response.json();
  } catch {
    throw new Problem("The server's answer cannot be read.");
  }
}

/** The address of a request: entries that are empty are left out. */
export function address(path, params = {}) {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(given).toString();
  return `api/${path}${query ? `?${query}` : ""}`;
}

/** What a GET gives.  Throws `Problem`. */
export const get = (path, params) => request(address(path, params), {});

/** What a POST gives.  Throws `Problem`. */
export const post = (path, body) =>
  request(`api/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });

const early = new Map(); // requests that were made before anyone needs them

/** Ask now for what a `useGet` will need soon. */
export function askEarly(path, params) {
  const url = address(path, params);
  const answer = request(url, {});
  answer.catch(() => early.delete(url)); // whoever needs it asks again, and shows what is wrong
  early.set(url, answer);
}

/** What a URL gives: the answer that was asked for early, or a new one. */
function once(url, signal) {
  const answer = early.get(url);
  early.delete(url);
  return answer || request(url, { signal });
}

/**
 * The result of a GET as a hook: {data, problem, busy, again}.  A new address aborts the request before; until its
 * result is here, `data` is the last one and `busy` is true.  No address, no request.
 */
export function useGet(path, params) {
  const [state, setState] = useState({ data: null, problem: null, at: null });
  const [turn, setTurn] = useState(0);
  const url = path ? address(path, params) : null;
  const wanted = useRef();
  wanted.current = url;
  useEffect(() => {
    if (!url) return undefined;
    const controller = new AbortController();
    once(url, controller.signal).then(
      (data) => controller.signal.aborted || setState({ data, problem: null, at: url }),
      (error) => {
        if (!controller.signal.aborted) setState({ data: null, problem: error.message, at: url });
      },
    );
    return () => controller.abort();
  }, [url, turn]);
  const again = () => setTurn(turn + 1);
  return { data: url ? state.data : null, problem: url === state.at ? state.problem : null, busy: url !== state.at, again };
}
