// SPDX-License-Identifier: Apache-2.0
// Requests to a service: documents as the command line prints them, blocks, and the stream of events.

/** A service's refusal of a request. */
class Refusal extends Error {
  constructor(status, problem) {
    super([problem.detail, problem.next].filter(Boolean).join(". ").replace(/\.\. /g, ". "));
    this.status = status;
  }
}

let token = remembered("tilewright-token");
let askedForToken = null;

function remembered(name) {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return null;  // a browser may refuse it
  }
}

/** The answer; asks for a token until the service accepts it. Throws Refusal. */
async function ask(path, headers = {}) {
  for (;;) {
    const sent = token;
    const answer = await fetch(path, {headers: {...headers, ...(sent ? {Authorization: `Bearer ${sent}`} : {})}})
      .catch(() => { throw new Error("The service does not answer."); });
    if (answer.ok) return answer;
    const problem = await answer.json().catch(() => ({detail: `${path}: ${answer.status}`}));
    if (answer.status !== 401) throw new Refusal(answer.status, problem);
    if (sent === token) await (askedForToken ??= askForToken(problem.detail).finally(() => (askedForToken = null)));
  }
}

/** Shows a form in the view's place; resolves once a token is typed. */
function askForToken(why) {
  return new Promise((done) => {
    const input = element("input", {type: "password", name: "token", autocomplete: "off", required: true});
    const form = element("form", {submit: (event) => {
      event.preventDefault();
      token = input.value.trim();
      try {
        sessionStorage.setItem("tilewright-token", token);
      } catch {
        // the token then lasts as long as the page
      }
      done();
      if (report) show();
    }}, element("label", {}, element("span", {}, "Token"), input), element("button", {}, "Open"));
    const main = document.getElementById("main");
    main.replaceChildren(element("h2", {}, "A token is needed"), element("p", {}, why), form);
    main.dataset.ready = "token";
  });
}

const askJson = async (path) => (await ask(path)).json();
/** A table's rows, as in `--format json`. */
const askRows = async (path) => (await askJson(path)).rows;

const kService = {
  isLive: true,
  index: () => askJson("v1/page"),
  block: async (name) => (await ask(`v1/page/${name}?of=${report.id}`)).arrayBuffer(),
};

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** Calls `on(event)` for each event from now on, and `reached(whether)` as the connection comes or goes; reconnects. */
async function listen(on, reached) {
  let last = "";
  for (let wait = 1000; ; wait = Math.min(2 * wait, 30000)) {
    try {
      const answer = await ask("v1/events", last ? {"Last-Event-ID": last} : {});
      reached(true);
      wait = 1000;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        const pieces = (text + read.value).split("\n\n");
        text = pieces.pop();
        for (const piece of pieces) {
          const fields = new Map(piece.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
          last = fields.get("id") ?? last;
          if (fields.get("event") === "reset") on({event: "reset"});
          else if (fields.has("data")) on(JSON.parse(fields.get("data")));
        }
      }
    } catch {
      // The connection is lost: tried again.
    }
    reached(false);
    await pause(wait);
  }
}
