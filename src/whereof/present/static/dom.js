// What several scripts share: elements, documents of the server, and parts of its pages.

export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

const SILENT = "The server does not answer; try again.";

async function get(address, options) {
  try {
    return await fetch(address, options);
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error(SILENT);
  }
}

export async function ask(address, options = {}) {
  const response = await get(address, options);
  const found = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(found.message || SILENT);
  return found;
}

export function send(address, body, options = {}) {
  const headers = { "content-type": "application/json" };
  return ask(address, { method: "POST", headers, body: JSON.stringify(body), ...options });
}

// A part of a page of the server, as an element of this document.
export async function part(address, selector, options = {}) {
  const response = await get(address, { headers: { accept: "text/html" }, ...options });
  const found = new DOMParser().parseFromString(await response.text(), "text/html");
  const element = found.querySelector(selector);
  if (!response.ok || !element) {
    throw new Error(found.querySelector(".error:not([hidden])")?.textContent || SILENT);
  }
  return document.adoptNode(element);
}

// Change some values of the address without loading it; empty ones are left out.
export function keep(values, how = "replaceState") {
  const address = new URL(location.href);
  for (const [name, value] of Object.entries(values)) {
    if (value === "" || value === null) address.searchParams.delete(name);
    else address.searchParams.set(name, value);
  }
  history[how](null, "", address);
}

export function later(work, milliseconds) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), milliseconds);
  };
}
