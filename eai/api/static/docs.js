"use strict";
// Renders openapi.json. Everything is put in as text, so nothing a document says can run here.

const METHODS = ["get", "post", "put", "patch", "delete"];
const DEEPEST = 6;

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((child) => child !== null));
  return made;
}

function resolve(api, schema) {
  const name = schema?.$ref?.split("/").pop();
  return name ? api.components.schemas[name] : schema;
}

// An example value in the shape of a schema, required fields first.
function example(api, schema, depth = 0) {
  const known = resolve(api, schema);
  if (!known || depth > DEEPEST) return null;
  if ("default" in known) return known.default;
  if ("const" in known) return known.const;
  if (known.examples) return known.examples[0];
  if (known.enum) return known.enum[0];
  const alternatives = known.anyOf ?? known.oneOf ?? known.allOf;
  if (alternatives) return example(api, alternatives[0], depth + 1);
  if (known.type === "object") {
    const required = known.required ?? [];
    return Object.fromEntries(required.map((name) => [name, example(api, known.properties?.[name], depth + 1)]));
  }
  if (known.type === "array") return known.items ? [example(api, known.items, depth + 1)] : [];
  return { string: known.format ?? "text", integer: 1, number: 1, boolean: true }[known.type] ?? null;
}

function typeOf(api, schema) {
  const known = resolve(api, schema);
  if (!known) return "";
  const alternatives = known.anyOf ?? known.oneOf;
  if (alternatives) return alternatives.map((each) => typeOf(api, each)).join(" or ");
  if (known.enum) return known.enum.map((each) => JSON.stringify(each)).join(", ");
  return known.type === "array" ? `list of ${typeOf(api, known.items)}` : (known.format ?? known.type ?? "any");
}

function table(heads, rows) {
  const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col", textContent: text })));
  const body = rows.map((row) => element("tr", {}, ...row.map((text) => element("td", { textContent: text }))));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
}

function fields(api, schema) {
  const known = resolve(api, schema);
  const required = new Set(known?.required ?? []);
  return Object.entries(known?.properties ?? {}).map(([name, field]) => [
    name + (required.has(name) ? "" : "?"), typeOf(api, field), field.description ?? "",
  ]);
}

function scopeOf(operation) {
  if (operation.security?.length === 0) return "No credential needed.";
  const scopes = operation["x-required-scope"] ?? [];
  if (scopes.length === 0) return "Any API key.";
  return `Scope: ${scopes.join(operation["x-required-scope-match"] === "any" ? " or " : " and ")}.`;
}

function trial(api, path, method, operation) {
  const inputs = (operation.parameters ?? []).map((parameter) => ({
    parameter, input: element("input", { placeholder: typeOf(api, parameter.schema) }),
  }));
  const json = operation.requestBody?.content?.["application/json"];
  const body = json ? element("textarea", { value: JSON.stringify(example(api, json.schema), null, 2) }) : null;
  const output = element("pre", { hidden: true });
  const button = element("button", { type: "button", textContent: "Send" });
  button.addEventListener("click", async () => {
    button.disabled = true;
    output.hidden = false;
    output.textContent = await send(path, method, inputs, body);
    button.disabled = false;
  });
  const labels = inputs.map(({ parameter, input }) =>
    element("label", {}, `${parameter.name} (${parameter.in}${parameter.required ? "" : ", optional"})`, input));
  return element("details", {}, element("summary", { textContent: "Try it" }),
    element("div", { className: "body" }, ...labels, body && element("label", {}, "Body", body), button, output));
}

async function send(path, method, inputs, body) {
  const headers = { "Accept-Language": navigator.language };
  const key = document.getElementById("key").value.trim();
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body) headers["Content-Type"] = "application/json";
  const query = new URLSearchParams();
  let address = path;
  for (const { parameter, input } of inputs) {
    if (parameter.in === "path") address = address.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
    else if (input.value && parameter.in === "query") query.append(parameter.name, input.value);
    else if (input.value) headers[parameter.name] = input.value;
  }
  try {
    const answer = await fetch(query.size ? `${address}?${query}` : address,
      { method: method.toUpperCase(), headers, body: body?.value });
    const text = await answer.text();
    const isJson = answer.headers.get("content-type")?.includes("json");
    return `${answer.status} ${answer.statusText}\n\n${isJson ? JSON.stringify(JSON.parse(text), null, 2) : text}`;
  } catch (error) {
    return `The request could not be sent: ${error.message}`;
  }
}

function operationView(api, path, method, operation) {
  const json = operation.requestBody?.content?.["application/json"];
  const parameters = (operation.parameters ?? []).map((each) =>
    [each.name + (each.required ? "" : "?"), each.in, typeOf(api, each.schema), each.description ?? ""]);
  const success = Object.entries(operation.responses).find(([status]) => status.startsWith("2"));
  const answer = success?.[1].content?.["application/json"];
  const view = element("details", { id: operation.operationId },
    element("summary", {}, element("span", { className: "method", textContent: method.toUpperCase() }),
      element("code", { textContent: path }), ` ${operation.summary ?? ""}`),
    element("div", { className: "body" },
      element("p", { textContent: operation.description ?? "" }),
      element("p", { className: "note", textContent: scopeOf(operation) }),
      parameters.length ? element("h4", { textContent: "Parameters" }) : null,
      parameters.length ? table(["Name", "In", "Type", "Meaning"], parameters) : null,
      json ? element("h4", { textContent: "Body" }) : null,
      json ? table(["Field", "Type", "Meaning"], fields(api, json.schema)) : null,
      answer ? element("h4", { textContent: `Answer ${success[0]}` }) : null,
      answer ? table(["Field", "Type", "Meaning"], fields(api, answer.schema)) : null,
      trial(api, path, method, operation)));
  view.dataset.words = `${method} ${path} ${operation.summary} ${operation.description}`.toLowerCase();
  return view;
}

function render(api) {
  const groups = new Map();
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((each) => item[each])) {
      const name = item[method].tags?.[0] ?? "other";
      groups.set(name, [...(groups.get(name) ?? []), operationView(api, path, method, item[method])]);
    }
  }
  const sections = [...groups].map(([name, views]) =>
    element("section", {}, element("h2", { textContent: name.replaceAll("-", " ") }), ...views));
  document.getElementById("operations").replaceChildren(...sections);
}

function filter(words) {
  for (const view of document.querySelectorAll("[data-words]")) {
    view.hidden = !view.dataset.words.includes(words.toLowerCase());
  }
}

document.getElementById("find").addEventListener("input", (event) => filter(event.target.value));
document.getElementById("access").addEventListener("submit", (event) => event.preventDefault());
fetch("/openapi.json").then((answer) => answer.json()).then(render).catch((error) => {
  document.getElementById("operations").textContent = `openapi.json could not be read: ${error.message}`;
});
