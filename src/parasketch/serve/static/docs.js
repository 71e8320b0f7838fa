// The schema of the service for people: requests, and the shapes that go in and out. Nothing comes from elsewhere.
import { ask, make, theme } from "./common.js";

const nameOf = (schema) => schema.$ref.split("/").at(-1);
const shapeLink = (schema) => make("a", { href: `#${nameOf(schema)}` }, nameOf(schema));

/** A schema in words, with links to the shapes that have a name. */
function kind(schema = {}) {
  if (schema.$ref) return [shapeLink(schema)];
  if (schema.anyOf) return schema.anyOf.flatMap((each, place) => [...(place ? [" or "] : []), ...kind(each)]);
  if (schema.type === "array") return ["list of ", ...kind(schema.items)];
  return [schema.type ?? "anything"];
}

function shape([name, { description, properties = {}, required = [] }]) {
  const rows = Object.entries(properties).map(([field, schema]) => {
    const given = required.includes(field) ? "needed" : JSON.stringify(schema.default ?? null);
    return make("tr", {}, make("th", { scope: "row" }, field), make("td", {}, ...kind(schema)), make("td", {}, given),
      make("td", {}, schema.description ?? ""));
  });
  const head = make("tr", {}, ...["field", "kind", "if not given", "what"].map((text) => make("th", { scope: "col" }, text)));
  return make("section", { class: "card wide", id: name, tabindex: "0", "aria-label": name }, make("h3", {}, name),
    make("p", {}, description ?? ""), make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}

function operation(path, method, { description, requestBody, responses }) {
  const shapeOf = (part) => Object.values(part?.content ?? {}).map(({ schema }) => schema).find((schema) => schema?.$ref);
  const [asked, answered] = [shapeOf(requestBody), shapeOf(responses["200"])];
  return make("section", { class: "card" }, make("h2", {}, `${method.toUpperCase()} ${path}`), make("p", {}, description ?? ""),
    ...(asked ? [make("p", {}, "Asked: ", shapeLink(asked))] : []),
    ...(answered ? [make("p", {}, "Answered: ", shapeLink(answered))] : []));
}

theme();
try {
  const { paths, components } = await ask("openapi.json");
  document.getElementById("requests").append(...Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]) => operation(path, method, each))));
  document.getElementById("shapes").append(...Object.entries(components.schemas)
    .filter(([name]) => !name.includes("ValidationError")).map(shape));
} catch (error) {
  document.getElementById("status").textContent = error.message;
}
