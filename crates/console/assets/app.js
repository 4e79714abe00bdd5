// Conveniences. Every page works without this script.
"use strict";

// Copy buttons: shown only if the browser can copy.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = button.parentElement.querySelector("[data-copy-text]").textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select the text and copy it";
  }
});
function wake(root) {
  for (const button of root.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
}

// Parts of a page that update while the user types: <form data-live="/url" data-live-into="#id">.
function later(milliseconds, work) {
  let timer;
  return (...given) => { clearTimeout(timer); timer = setTimeout(() => work(...given), milliseconds); };
}
function liven(form) {
  const into = document.querySelector(form.dataset.liveInto);
  let asked = 0;
  const ask = later(200, async () => {
    const mine = ++asked;
    const response = await fetch(form.dataset.live, {
      method: "POST",
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams(new FormData(form)),
    }).catch(() => null);
    if (!response || mine !== asked) return;
    into.innerHTML = await response.text();
    wake(into);
  });
  form.addEventListener("input", ask);
}

// Progress of a release: <div data-progress="/url"> shows the events that the server streams until one is "done".
function follow(element) {
  const source = new EventSource(element.dataset.progress);
  source.addEventListener("progress", (event) => { element.innerHTML = event.data; });
  source.addEventListener("done", () => { source.close(); location.reload(); });
}

// The time machine: a slider that shows the account at the selected date.
function travel(form) {
  const slider = form.querySelector("input[type=range]");
  const moment = form.querySelector("[data-moment]");
  const into = document.querySelector(form.dataset.into);
  const days = JSON.parse(form.dataset.days);
  let asked = 0;
  const ask = later(120, async () => {
    const mine = ++asked;
    const url = new URL(form.action);
    url.search = new URLSearchParams(new FormData(form));
    const response = await fetch(url, { headers: { "X-Fragment": "time-machine" } }).catch(() => null);
    if (!response || !response.ok || mine !== asked) return;
    into.innerHTML = await response.text();
    wake(into);
    history.replaceState(null, "", url);
  });
  slider.hidden = false;
  slider.addEventListener("input", () => { moment.value = days[slider.value]; ask(); });
  moment.addEventListener("change", ask);
}

// The search palette.
function palette(dialog) {
  const field = dialog.querySelector("input");
  const results = dialog.querySelector("[data-palette-results]");
  let chosen = -1, asked = 0;
  const links = () => [...results.querySelectorAll("a")];
  const choose = (index) => {
    const all = links();
    chosen = all.length ? (index + all.length) % all.length : -1;
    all.forEach((link, at) => link.classList.toggle("chosen", at === chosen));
    if (chosen >= 0) all[chosen].scrollIntoView({ block: "nearest" });
  };
  const ask = later(80, async () => {
    const mine = ++asked;
    const query = new URLSearchParams({ q: field.value });
    const response = await fetch(`/console/find?${query}`, { headers: { "X-Fragment": "results" } }).catch(() => null);
    if (!response || !response.ok || mine !== asked) return;
    results.innerHTML = await response.text();
    choose(0);
  });
  field.addEventListener("input", ask);
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") { event.preventDefault(); choose(chosen + 1); }
    if (event.key === "ArrowUp") { event.preventDefault(); choose(chosen - 1); }
    if (event.key === "Enter" && chosen >= 0) { event.preventDefault(); links()[chosen].click(); }
  });
  const open = () => { if (!dialog.open) { dialog.showModal(); field.value = ""; ask(); } };
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") { event.preventDefault(); open(); }
  });
  document.querySelector("[data-find]").addEventListener("mousedown", (event) => { event.preventDefault(); open(); });
}

// Form errors: the summary gets the focus, and its links open and focus each field, also in a collapsed part.
function lead(summary) {
  summary.focus();
  summary.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    const field = link && document.getElementById(link.getAttribute("href").slice(1));
    if (!field) return;
    event.preventDefault();
    for (let part = field.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
    field.focus();
  });
}

wake(document);
document.querySelectorAll("[data-summary]").forEach(lead);
document.querySelectorAll("form[data-live]").forEach(liven);
document.querySelectorAll("[data-progress]").forEach(follow);
document.querySelectorAll("form[data-time-machine]").forEach(travel);
document.querySelectorAll("[data-palette]").forEach(palette);
document.querySelectorAll("[data-auto-submit]").forEach((field) => field.addEventListener("change", () => field.form.requestSubmit()));
