// Follow a job of the server: its progress, a button that cancels it, and its end.

import { ask, make } from "./dom.js";

export function panel(title) {
  const text = make("span", { class: "text", role: "status", "aria-live": "polite" }, "starting");
  return make("div", { class: "job" },
    make("p", {}, make("strong", {}, title), " ", text),
    make("progress", { max: "1", "aria-label": `Progress of ${title}` }),
    make("button", { type: "button", class: "cancel", disabled: "" }, "Cancel"));
}

const addressOf = (id) => `/api/jobs/${encodeURIComponent(id)}`;

// Makes the button, if there is one, cancel the job; returns a function that shows how far the job is.
export function attach(element, id) {
  const text = element.querySelector(".text"), bar = element.querySelector("progress");
  const button = element.querySelector(".cancel");
  const refused = make("span", { class: "quiet", role: "alert" });
  button?.after(" ", refused);
  button?.removeAttribute("disabled"); // until now no job was known
  button?.addEventListener("click", () => {
    const before = text.textContent;
    button.disabled = true;
    text.textContent = "cancelling";
    ask(addressOf(id), { method: "DELETE" }).catch((error) => {
      refused.textContent = error.message;
      text.textContent = before;
      button.disabled = false;
    });
  });
  return (job) => {
    const waits = job.position ? `waiting, number ${job.position} in the queue` : job.state;
    const news = job.progress?.text ?? waits;
    if (text.textContent !== news) text.textContent = news; // it is read out
    const share = job.progress?.share;
    if (share === null || share === undefined) bar.removeAttribute("value");
    else bar.value = share;
  };
}

// Resolves with the job when it is over.
export function follow(element, id) {
  const address = addressOf(id), show = attach(element, id);
  return new Promise((resolve, reject) => {
    const events = new EventSource(`${address}/events`);
    for (const kind of ["state", "progress"]) {
      events.addEventListener(kind, (event) => show(JSON.parse(event.data)));
    }
    for (const kind of ["done", "failed", "cancelled"]) {
      events.addEventListener(kind, (event) => {
        events.close();
        resolve(JSON.parse(event.data));
      });
    }
    events.onerror = async () => {
      if (events.readyState !== EventSource.CLOSED) return; // it connects again by itself
      ask(address).then((job) => (job.state === "done" ? resolve(job) : reject(new Error(job.message || "the connection was lost; load the page again"))), reject);
    };
  });
}
