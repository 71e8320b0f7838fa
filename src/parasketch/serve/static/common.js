// What the pages share: making elements, asking the server, and dark or light.

/** An element with attributes and children; text never becomes markup. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** The server's answer as JSON; what it refuses is an Error with its own words. */
export async function ask(path, body, options) {
  return (await answered(path, body, options)).json();
}

/** An answer that comes as lines of JSON: `each` is called with every line as soon as it is there. */
export async function askLines(path, body, options, each) {
  const response = await answered(path, body, options);
  let rest = "";
  for (const reader = response.body.pipeThrough(new TextDecoderStream()).getReader(); ;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines.map((text) => JSON.parse(text))) {
      if (line.error) throw refused(line, line.error.status);
      each(line);
    }
  }
}

async function answered(path, body, { signal, key } = {}) {
  const headers = { "Content-Type": "application/json", ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  const options = body === undefined ? { headers, signal } : { method: "POST", headers, signal, body: JSON.stringify(body) };
  const response = await fetch(path, options);
  if (!response.ok) throw refused(await response.json().catch(() => ({})), response.status);
  return response;
}

function refused(answer, status) {
  return Object.assign(new Error(answer.error?.message ?? `the server said ${status}`), { status });
}

/** Dark or light, as it was chosen; without a choice the system's is followed. */
export function theme() {
  const stored = localStorage.getItem("theme");
  if (stored) document.documentElement.dataset.theme = stored;
}

/** Let a button change between dark and light. */
export function themeButton(button) {
  const root = document.documentElement;
  theme();
  button.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
  });
}
