"use strict";
// All text goes in by textContent: what models and users wrote is never read as markup.
const token = decodeURIComponent(location.hash.slice(1));
const at = (id) => document.getElementById(id);
const runs = new Map();
let failures = [];
let latest = null;
const SHOWN = 300;

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function button(text, deed, body, sure) {
  const made = element("button", text);
  made.type = "button";
  made.addEventListener("click", async () => {
    if (sure && !confirm(sure)) return;
    made.disabled = true;
    try {
      const answer = await fetch("do/" + deed, { method: "POST", headers: headers(), body: JSON.stringify(body) });
      const words = answer.ok ? await answer.json() : { done: await answer.text() };
      status(words.done || `stopped ${words.stopped.length}, killed ${words.killed.length}, finished ${words.finished.length}`);
    } catch (error) { status(String(error), true); }
    made.disabled = false;
  });
  return made;
}

function headers() { return { Authorization: "Bearer " + token, "Content-Type": "application/json" }; }
function status(words, lost) { at("status").textContent = words; at("status").classList.toggle("lost", Boolean(lost)); }
function seconds(row) {
  const spent = row.seconds === null ? latest.at - row.started_at : row.seconds;
  return spent < 10 ? spent.toFixed(2) + " s" : Math.round(spent) + " s";
}

function runRow(row) {
  const made = element("div", undefined, "row");
  const state = row.outcome === "" ? "running" : row.reason || row.outcome;
  const line = element("p");
  line.append(element("b", row.child), " ", element("span", state, row.outcome === "" ? "warn" : row.outcome === "delivered" ? "good" : "bad"), ` ${seconds(row)}`);
  made.append(line);
  const root = row.root_run_id;
  if (row.outcome === "" && root) made.append(button("cancel", "cancel", { scope_key: row.scope_key, root_run_id: root }));
  const below = [row.scope_key, "depth " + row.depth];
  if (row.run_id) below.push("run " + row.run_id);
  made.append(element("div", below.join(" · "), "below"));
  if (row.words || row.task) made.append(element("div", row.words || row.task, "below"));
  return made;
}

function scopeRow(scope) {
  const made = element("div", undefined, "row");
  const line = element("p");
  line.append(element("b", scope.key), " ", `${scope.hosts} hosts, ${scope.in_flight} running, ${scope.queued} waiting`);
  if (scope.closing) line.append(" ", element("span", "closing", "warn"));
  if (scope.frozen) line.append(" ", element("span", "frozen", "warn"));
  made.append(line, button(scope.frozen ? "thaw" : "freeze", scope.frozen ? "thaw" : "freeze", { scope_key: scope.key }));
  for (const [child, why] of Object.entries(scope.quarantined)) made.append(element("div", `${child} is in quarantine: ${why}`, "below bad"));
  return made;
}

function draw() {
  if (!latest) return;
  at("pool").textContent = latest.pool;
  const figures = latest.figures;
  const told = { tenants: figures.live_scopes, hosts: figures.live_hosts, "warm hosts": figures.warm_hosts, running: figures.in_flight, waiting: figures.queued, delivered: figures.delivered };
  at("figures").replaceChildren(...Object.entries(told).map(([name, value]) => {
    const pair = element("div");
    pair.append(element("dt", name), element("dd", String(value)));
    return pair;
  }));
  at("reasons").textContent = Object.entries(latest.undelivered).sort((a, b) => b[1] - a[1]).map(([reason, count]) => `${count} ${reason}`).join(", ");
  const wanted = at("filter").value.trim().toLowerCase();
  const fits = (...texts) => !wanted || texts.some((text) => text.toLowerCase().includes(wanted));
  const shown = [...runs.values()]
    .filter((row) => (!at("running").checked || row.outcome === "") && fits(row.child, row.scope_key, row.reason, row.run_id, row.root_run_id, row.outcome))
    .sort((a, b) => (a.outcome === "" ? 0 : 1) - (b.outcome === "" ? 0 : 1) || b.change - a.change);
  at("runs-count").textContent = shown.length > SHOWN ? `${SHOWN} of ${shown.length} shown` : `${shown.length}`;
  at("runs").replaceChildren(...shown.slice(0, SHOWN).map(runRow));
  at("failures").replaceChildren(...failures.slice(0, 100).map(runRow));
  const scopes = latest.scopes.filter((scope) => fits(scope.key)).sort((a, b) => b.in_flight + b.queued - a.in_flight - a.queued);
  at("scopes-count").textContent = `${scopes.length}` + (latest.more_scopes ? `, and ${latest.more_scopes} more` : "");
  at("scopes").replaceChildren(...scopes.slice(0, SHOWN).map(scopeRow));
  const all = at("freeze-all");
  const next = button(figures.frozen ? "thaw all" : "freeze all", figures.frozen ? "thaw" : "freeze", {}, figures.frozen ? "" : "Take no work of any tenant, and cancel what runs?");
  next.id = "freeze-all";
  if (all.textContent !== next.textContent || all.hidden) all.replaceWith(next);
}

function take(news) {
  latest = news;
  for (const row of news.runs) runs.set(row.key, row);
  if (runs.size > 2500) for (const row of [...runs.values()].sort((a, b) => a.change - b.change).slice(0, runs.size - 2000)) runs.delete(row.key);
  failures = [...news.failures, ...failures].slice(0, 200);
  if (!document.hidden && !document.activeElement?.closest(".rows button")) draw();
}

async function listen() {
  const answer = await fetch("events", { headers: headers() });
  if (!answer.ok) throw new Error(await answer.text());
  runs.clear();
  failures = [];
  status("live");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error("the console has ended");
    const messages = (rest + value.replaceAll("\r\n", "\n")).split("\n\n");
    rest = messages.pop();
    for (const message of messages) {
      const data = message.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("");
      if (data) take(JSON.parse(data));
    }
  }
}

async function forever() {
  for (;;) {
    try { await listen(); } catch (error) { status(String(error.message || error), true); }
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}

at("filter").addEventListener("input", draw);
at("running").addEventListener("change", draw);
forever();
