// A rater's page: one pair at a time, three questions, keys 1 and 2; the next pair comes with the confirmation.
import { ask, make, theme } from "./common.js";

const $ = (id) => document.getElementById(id);
const QUESTIONS = {
  fluency: "Which is more fluent?",
  meaning: "Which keeps the meaning, adding and dropping nothing?",
  difference: "Which differs more from the sentence in its wording?",
};
const base = location.pathname.replace(/\/$/, "");
let page = null;
let since = 0;
let saving = false;

const answer = (question) => document.querySelector(`input[name=${question}]:checked`)?.value;
const open = () => Object.keys(QUESTIONS).find((question) => !answer(question));

function question(name, text) {
  const choice = (side, key) => make("label", {},
    make("input", { type: "radio", name, value: side, onchange: update }), `Attempt ${key}`);
  return make("fieldset", { "data-question": name }, make("legend", {}, text),
    make("div", { class: "choices" }, choice("left", 1), choice("right", 2)));
}

function update() {
  const next = open();
  $("save").disabled = Boolean(next) || saving;
  for (const set of document.querySelectorAll("fieldset")) set.classList.toggle("now", set.dataset.question === next);
}

function show(next) {
  page = next;
  since = performance.now();
  $("task").hidden = page.assignment === null;
  $("finished").hidden = page.assignment !== null;
  $("task").reset();
  $("progress").max = page.total;
  $("progress").value = page.done;
  $("count").textContent = `Pair ${Math.min(page.done + 1, page.total)} of ${page.total}`;
  for (const id of ["source", "left", "right"]) $(id).textContent = page[id];
  update();
  window.scrollTo(0, 0);
}

async function save() {
  if (saving || open() || !page?.assignment) return;
  saving = true;
  update();
  const answers = Object.fromEntries(Object.keys(QUESTIONS).map((name) => [name, answer(name)]));
  const seconds = (performance.now() - since) / 1000;
  try {
    const next = await ask(`${base}/answers`, { assignment: page.assignment, ...answers, seconds });
    $("status").textContent = `Saved. ${next.total - next.done} to go.`;
    show(next);
  } catch (error) {
    $("status").textContent = `Not saved yet: ${error.message}. Please try again.`;
  } finally {
    saving = false;
    update();
  }
}

function key(event) {
  if ($("task").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
  const side = { 1: "left", 2: "right" }[event.key];
  const next = open();
  if (side && next) document.querySelector(`input[name=${next}][value=${side}]`).checked = true;
  else if (event.key === "Backspace") {
    const last = Object.keys(QUESTIONS).findLast(answer);
    if (last) document.querySelector(`input[name=${last}]:checked`).checked = false;
  } else if (event.key === "Enter" && !next) save();
  else return;
  event.preventDefault();
  update();
}

theme();
$("questions").append(...Object.entries(QUESTIONS).map(([name, text]) => question(name, text)));
$("task").addEventListener("submit", (event) => { event.preventDefault(); save(); });
document.addEventListener("keydown", key);
$("begin").addEventListener("click", async () => {
  try {
    show(await ask(`${base}/next`));
    $("instructions").hidden = true;
  } catch (error) {
    $("status").textContent = error.message;
  }
});
