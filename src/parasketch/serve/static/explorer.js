// The explorer: what is typed and chosen is the state, the address bar holds it, and every change asks the server anew.
import { ask, askLines, make, themeButton } from "./common.js";
import { differences } from "./differences.js";

const $ = (id) => document.getElementById(id);
const PAUSE = 60; // milliseconds without typing before the server is asked
const SKETCHES = 14;
let models = [];
let sketch = []; // the chosen branch
let tree = null;
let wish = null; // how many codes the link wants, which counts once the model is there
let codes = new Map(); // model -> what its codes mean
let current = new AbortController();
let timer;

/** The state as the part of the address after the #, and back. */
function save() {
  const state = new URLSearchParams();
  for (const id of ["text", "like", "n", "model", "beside"]) if ($(id).value) state.set(id, $(id).value);
  if (depthOf($("model").value)) state.set("depth", $("depth").value);
  if (sketch.length) state.set("sketch", sketch.join(","));
  history.replaceState(null, "", `#${state}`);
}

function restore() {
  const state = new URLSearchParams(location.hash.slice(1));
  for (const [id, value] of Object.entries({ text: "", like: "", n: 5, beside: "", model: models[0].name })) {
    $(id).value = state.get(id) ?? value;
    if ($(id).value === "") $(id).value = value; // a model that is not served here
  }
  sketch = (state.get("sketch") ?? "").split(",").filter(Boolean).map(Number).filter(Number.isInteger);
  setDepth(state.get("depth"));
}

const depthOf = (name) => models.find((model) => model.name === name)?.depth ?? 0;

/** A model is loaded when it is first chosen; until then nobody knows how deep its sketches are. */
async function load(name, signal) {
  const model = models.find((one) => one.name === name);
  if (model?.depth !== null) return;
  status(`Loading ${name}…`);
  Object.assign(model, await ask(`v1/models/${encodeURIComponent(name)}`, undefined, options(signal)));
  if (name === $("model").value) setDepth(wish);
  showState();
}

function setDepth(value) {
  wish = value ?? null;
  const most = depthOf($("model").value);
  $("depth").max = most;
  $("depth").value = value ?? most;
  $("depth-dial").hidden = $("tree-section").hidden = $("codes-section").hidden = !most;
}

function status(message, error = false) {
  $("status").textContent = message;
  $("status").classList.toggle("error", error);
}

/** How the server is asked: with the key, if there is one, and until a later change aborts it. */
const options = (signal) => ({ signal, key: $("key").value || sessionStorage.getItem("key") });

/** What is wanted, of one model. */
function wanted(model) {
  const body = { text: $("text").value, n: Number($("n").value), model };
  const most = depthOf(model);
  if (most && Number($("depth").value) < most) body.depth = Number($("depth").value);
  if ($("like").value.trim()) body.like = $("like").value;
  else if (sketch.length && most) body.sketch = sketch.slice(0, most);
  return body;
}

function showState() {
  $("n-value").value = $("n").value;
  $("depth-value").value = $("depth").value;
  $("chosen").hidden = !sketch.length || Boolean($("like").value.trim());
  $("chosen").querySelector("span").textContent = `In the form ${sketch.join(" → ")}.`;
  save();
}

function changed({ soon = false } = {}) {
  showState();
  clearTimeout(timer);
  timer = setTimeout(work, soon ? 0 : PAUSE);
}

async function work() {
  current.abort(); // an older request: the server drops it too
  current = new AbortController();
  const { signal } = current;
  if (!$("text").value.trim()) {
    $("results").replaceChildren();
    $("tree").replaceChildren();
    status("");
    return;
  }
  const names = [$("model").value, ...($("beside").value ? [$("beside").value] : [])];
  $("results").classList.add("stale");
  status("Working…");
  try {
    for (const name of names) await load(name, signal);
    const answers = names.map(() => null);
    await Promise.all(names.map((name, place) => askLines("v1/paraphrase/stream", wanted(name), options(signal), (line) => {
      answers[place] = line;
      showResults(names, answers);
    })));
    if (!$("tree-section").hidden) {
      tree = await ask("v1/tree", { text: $("text").value, n: SKETCHES, model: names[0] }, options(signal));
      showTree();
      await showCodes(signal);
    }
  } catch (error) {
    if (signal.aborted) return;
    if (error.status === 401) $("key-row").hidden = false;
    status(error.message, true);
  } finally {
    if (!signal.aborted) $("results").classList.remove("stale");
  }
}

/** What has come so far, with empty cards in the places of what is still to come. */
function showResults(names, answers) {
  const most = Number($("n").value);
  $("results").classList.remove("stale");
  $("results").replaceChildren(...answers.map((answer, place) => {
    const { text, paraphrases } = answer?.results[0] ?? { paraphrases: [] };
    const coming = answer?.done ? 0 : most - paraphrases.length;
    const list = make("ol", {}, ...paraphrases.map((one) => paraphrase(text, one)),
      ...Array.from({ length: coming }, () => make("li", { class: "card coming", "aria-hidden": "true" })));
    return make("div", {}, ...(names.length > 1 ? [make("h3", {}, names[place])] : []), list);
  }));
  const done = answers.every((answer) => answer?.done);
  status(!done ? `The first of ${most}, others follow…` : `${most} ${most === 1 ? "paraphrase" : "paraphrases"}.`);
}

function paraphrase(source, one) {
  const parts = differences(source, one.text).flatMap(({ kind, space, text }) => [
    space, kind === "new" ? make("ins", {}, text) : kind === "gone" ? make("del", {}, text) : text,
  ]);
  const about = [];
  if (one.sketch.length) about.push(`form ${one.sketch.join(" → ")}`);
  if (one.difference != null) about.push(`${Math.round(100 * one.difference)} % different`);
  if (one.faithfulness != null) about.push(`${Math.round(100 * one.faithfulness)} % faithful`);
  const doubts = [...(one.accepted ? [] : ["doubtful"]), ...one.lost.map((fact) => `lost: ${fact}`), ...one.warnings];
  const copy = make("button", { type: "button", class: "quiet", "aria-label": `Copy: ${one.text}` }, "Copy");
  copy.addEventListener("click", () => copied(copy, one.text));
  return make("li", { class: "card" }, make("p", {}, ...parts), copy,
    make("span", { class: "about" }, about.join(" · "),
      ...(doubts.length ? [" ", make("span", { class: "doubt" }, `${about.length ? "· " : ""}${doubts.join(", ")}`)] : [])));
}

async function copied(button, text) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed";
  }
  setTimeout(() => { button.textContent = before; }, 1200);
}

/** Sketches that begin alike share a branch, whose probability is the sum of theirs. */
function showTree() {
  const root = { children: new Map() };
  for (const { sketch: codes, probability, text } of tree.branches) {
    let node = root;
    for (const [level, code] of codes.entries()) {
      const path = codes.slice(0, level + 1);
      if (!node.children.has(code)) node.children.set(code, { path, share: 0, text, children: new Map() });
      node = node.children.get(code);
      node.share += probability;
    }
  }
  const widest = Math.max(...[...root.children.values()].map((child) => child.share));
  const focused = document.activeElement?.dataset?.path;
  $("tree").replaceChildren(branches(root, widest));
  if (focused) $("tree").querySelector(`[data-path="${focused}"]`)?.focus();
}

function branches(node, widest) {
  const children = [...node.children.values()].sort((a, b) => b.share - a.share);
  return make("ul", {}, ...children.map((child) => {
    const share = `${(100 * child.share).toFixed(child.share < 0.1 ? 1 : 0)} %`;
    const own = child.path.every((code, level) => tree.own[level] === code);
    const button = make("button", {
      type: "button", class: "branch", "data-path": child.path.join(","), style: `--share: ${(80 * child.share) / widest}%`,
      "aria-pressed": String(child.path.join() === sketch.join()),
      onclick: () => choose(child.path),
    }, make("b", {}, `q${child.path.length} ${child.path.at(-1)}`), " ", make("span", { class: "share" }, share), " ",
    make("span", { class: "said" }, child.children.size ? make("span", { class: "unseen" }, child.text) : child.text,
      own ? " (your own form)" : ""));
    return make("li", {}, button, ...(child.children.size ? [branches(child, widest)] : []));
  }));
}

function choose(path) {
  sketch = path.join() === sketch.join() ? [] : path;
  $("like").value = "";
  changed({ soon: true });
}

async function showCodes(signal) {
  const model = $("model").value;
  if (sketch.length && !codes.has(model)) {
    codes.set(model, (await ask(`v1/codes/${encodeURIComponent(model)}`, undefined, options(signal))).codes);
  }
  const found = codes.get(model)?.find((row) => row.sketch.join() === sketch.join());
  $("codes-hint").textContent = !sketch.length ? "Choose a branch of the tree to see sentences that share its codes."
    : found ? `${found.count} sentences of the list begin with the codes ${sketch.join(" → ")}, such as:`
    : `No sentence of the list has the codes ${sketch.join(" → ")}.`;
  $("codes").replaceChildren(...(found?.sentences ?? []).map((sentence) => make("li", {}, sentence)));
}

async function start() {
  themeButton($("theme"));
  const known = await ask("v1/models", undefined, options());
  models = known.models;
  $("model").replaceChildren(...models.map(({ name }) => make("option", { value: name }, name)));
  $("beside").append(...models.map(({ name }) => make("option", { value: name }, name)));
  $("beside-dial").hidden = models.length < 2;
  $("examples").replaceChildren(...known.examples.slice(0, 5).map((text) => make("button", {
    type: "button", class: "quiet", onclick: () => { $("text").value = text; sketch = []; changed({ soon: true }); },
  }, text)));
  restore();
  changed({ soon: true });
}

$("form").addEventListener("submit", (event) => event.preventDefault());
for (const id of ["text", "like", "n", "depth", "beside"]) $(id).addEventListener("input", () => changed());
$("model").addEventListener("input", () => { sketch = []; setDepth(); changed({ soon: true }); });
$("free").addEventListener("click", () => { sketch = []; changed({ soon: true }); $("text").focus(); });
$("link").addEventListener("click", () => copied($("link"), location.href));
$("key").addEventListener("change", () => { sessionStorage.setItem("key", $("key").value); start().catch(failed); });
window.addEventListener("hashchange", () => { restore(); changed({ soon: true }); });

function failed(error) {
  if (error.status === 401) $("key-row").hidden = false;
  status(error.message, true);
}

start().catch(failed);
