// The desk in the browser: shows the newest state, and sends what the operator does.

import { Environment } from "./environment.js";
import { Input } from "./input.js";
import { Link } from "./link.js";
import { drawErrors, showBeliefs } from "./plots.js";
import { Sequencer } from "./sequence.js";

const by = (id) => document.getElementById(id);
const seconds = (value) => (value === null || value === undefined ? "–" : `${value.toFixed(1)} s`);

/** A time from now on; a prediction that is behind is for now, and never for "in -1.7 s". */
const moment = (value) => (value < 0.05 ? "now" : `in ${seconds(value)}`);

const link = new Link();
const me = { name: null, hadControl: false };
let state = null;
let stateAt = 0;
let plots = { errors: [], beliefs: [] };
let goal = null;
let panelStyle = null;

// --- the connection

link.on("open", () => {
  document.body.classList.remove("disconnected");
});
link.on("close", (event) => {
  input.release();
  document.body.classList.add("disconnected");
  by("offline-words").dataset.why = event.reason || "";
});
setInterval(() => {
  if (link.open || link.lostAt === null) return;
  const since = Math.round((performance.now() - link.lostAt) / 1000);
  const why = by("offline-words").dataset.why;
  by("offline-words").textContent =
    `${why ? `${why}: ` : ""}for ${since} s, trying again. Your stick counts as released.`;
}, 500);

link.on("welcome", (message) => {
  me.name = message.name;
  by("title").textContent = by("title").title = message.title;
  document.title = `${message.title} – marsyard teleop`;
  by("pause").hidden = !message.can_pause;
  sequencer.canValidate = message.can_validate;
  sequencer.list();
  openScene(message.id);
  // after a lost connection, go on as before unless somebody else has taken over
  if (me.hadControl) link.send("take", { free: true });
  setAim("");
  by("aim-goal").checked = false;
  sequencer.show(!by("sequence").hidden);
});
link.on("answer", (message) => toast(message.text, message.good));
link.on("refused", (message) => toast(message.text, false));
link.on("trouble", (message) => toast(message.text, false));
link.on("clicked", (message) => {
  if (message.at === "goal") setGoal(message);
  else sequencer.clicked(message);
});
link.on("ask", (message) => ask(message));
link.on("checked", (message) => sequencer.checked(message));
link.on("previewed", (message) => sequencer.previewed(message));
link.on("validation", (message) => sequencer.validation(message));
link.on("environment", (message) => {
  set("title", message.title);
  by("title").title = message.title;
  document.title = `${message.title || "Edit"} – marsyard teleop`;
  environment.show(message);
  input.off = environment.mode !== "driving";
  if (input.off) dropAim();
});
link.on("plots", (message) => {
  plots = message;
  showPlots();
});
link.on("state", (message) => {
  state = message;
  stateAt = performance.now();
  showState();
});

// --- the scene in its frame

function openScene(id) {
  const frame = by("scene");
  const socket = new URL(`scene/${id}`, location.href);
  socket.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  socket.search = "";
  frame.onload = () => {
    // the frame is of the same origin: its keys are heard, its own panel is not needed
    input.listen(frame.contentWindow);
    panelStyle = frame.contentDocument.createElement("style");
    frame.contentDocument.head.append(panelStyle);
    showPanel();
  };
  // /?quality=0.5: half as many pixels each way, for slow machines; 0: no scene at all
  const quality = parseFloat(new URLSearchParams(location.search).get("quality") ?? "1");
  if (quality === 0) {
    frame.srcdoc = "<body style='background: #0c0f14'>";
    return;
  }
  const ask = new URLSearchParams({ websocket: socket.href });
  if (quality > 0 && quality !== 1) ask.set("fixedDpr", Math.min(quality, 2));
  frame.src = `scene/?${ask}`;
}

/** The panel of the scene is the editor's: shown while this page edits. */
function showPanel() {
  if (!panelStyle) return;
  const hidden = environment.mode === "editing" && me.hadControl ? "" : ".mantine-Paper-root, ";
  const text = `${hidden}.mantine-Notifications-root { display: none !important; }`;
  if (panelStyle.textContent !== text) panelStyle.textContent = text;
}

// --- what is shown

function set(id, text) {
  const place = by(id);
  if (place.textContent !== text) place.textContent = text;
}

function tone(id, name) {
  const classes = by(id).classList;
  for (const one of ["good", "warn", "bad"]) classes.toggle(one, one === name);
}

function showState() {
  const s = state;
  const mine = s.control === me.name;
  me.hadControl = mine;
  document.body.classList.toggle("watching", !mine);
  document.body.classList.toggle("stopping", s.stopping);
  document.body.classList.toggle("needs-resume", s.mode !== "nominal");
  set("link", s.link === "none" ? "no contact" : s.link);
  tone("tile-link", { good: "good", late: "warn" }[s.link] ?? "bad");
  set("round-trip", s.round_trip === null ? "–" : `${s.round_trip.toFixed(2)} s`);
  set("mode", s.stopping ? "stopping" : s.mode);
  tone("tile-mode", s.mode === "nominal" && !s.stopping ? "good" : "bad");
  set("remote", s.remote);
  tone("tile-remote", { running: "good", gone: "bad" }[s.remote] ?? "warn");
  by("tile-remote").title = s.remote_reason;
  set("clock", clockText(s.time));
  by("tile-gates").hidden = !s.gates;
  if (s.gates) {
    set("gates", `${s.gates.passed} of ${s.gates.count}`);
    by("tile-gates").title = s.gates.next ? `next: gate ${s.gates.next}` : "no gate is left";
    tone("tile-gates", s.gates.next ? "" : s.gates.passed === s.gates.count ? "good" : "warn");
  }
  set("control", mine ? "you" : s.control ?? "nobody");
  tone("tile-control", mine ? "good" : "");
  by("take").hidden = mine;
  set("pause", s.paused ? "Continue" : "Pause");
  const drives = mine && environment.mode === "driving";
  for (const id of ["resume", "flush", "flush-all", "aim-goal"]) by(id).disabled = !drives;
  for (const id of ["preview", "validate", "send"]) by(id).disabled = environment.mode !== "driving";
  environment.control(mine);
  showPanel();
  by("view").classList.toggle("late", s.link === "late");
  by("view").classList.toggle("lost", s.link === "lost" || s.remote === "gone");
  showWords(s);
  showNumbers(s);
  showOrders(s);
  showGoal();
}

/** Ages grow between states, too. */
function showAges() {
  if (state === null) return;
  const since = link.open && !state.paused ? (performance.now() - stateAt) / 1000 : 0;
  const age = state.age === null ? null : Math.max(0, state.age + since);
  set("age", seconds(age));
  const trip = state.round_trip ?? 0;
  tone("tile-age", age === null || state.link === "lost" ? "bad"
    : age > trip / 2 + 2 ? "warn" : "");
  set("legend-rover", age === null ? "none yet" : `as it was ${seconds(age)} ago`);
  if (state.prediction === null) {
    set("legend-ghost", "none yet");
    return;
  }
  const ahead = state.prediction.time === null ? "" : ` ${moment(state.prediction.time - state.time)}`;
  const sure = state.ellipse === null ? "" : `, ± ${centimetres(Math.max(...state.ellipse))} (95 %)`;
  const [a, b] = [state.rover, state.prediction];
  const stays = a && Math.hypot(a.x - b.x, a.y - b.y) < 0.005;
  set("legend-ghost", `${stays ? "the same place" : "when commands arrive"},${ahead}${sure}`);
}
setInterval(showAges, 100);

const centimetres = (metres) =>
  metres >= 1 ? `${metres.toFixed(2)} m` : `${(100 * metres).toFixed(metres < 0.1 ? 1 : 0)} cm`;

function clockText(time) {
  const whole = Math.floor(time);
  const two = (n) => String(n).padStart(2, "0");
  const hours = Math.floor(whole / 3600);
  const rest = `${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  return hours ? `${hours}:${rest}` : rest;
}

function showWords(s) {
  const lines = s.words.map((text) => [text, s.link === "late" && /^Link late/.test(text)]);
  const told = s.words.some((text) => text.includes(s.remote_reason));
  if (s.remote === "gone" && !told) {
    lines.unshift([`The rover's simulation is gone: ${s.remote_reason}`, false]);
  }
  if (s.remote === "ended") lines.unshift([`The run has ended. ${s.remote_reason}`, true]);
  if (s.remote === "starting") lines.unshift(["The rover's simulation is starting …", true]);
  if (s.paused) lines.unshift(["Paused: time stands still.", true]);
  const key = JSON.stringify(lines);
  if (by("words").dataset.key === key) return;
  by("words").dataset.key = key;
  by("words").replaceChildren(...lines.map(([text, mild]) => {
    const line = document.createElement("p");
    line.textContent = text;
    line.className = mild ? "warn" : "";
    return line;
  }));
}

/** How numbers are shown: factor, unit, digits. */
const UNITS = {
  speed: [100, "cm/s", 1], slip: [100, "%", 0], sinkage: [1000, "mm", 1],
  tilt: [180 / Math.PI, "°", 1], roll: [180 / Math.PI, "°", 1], pitch: [180 / Math.PI, "°", 1],
  power: [1, "W", 1], torque: [1, "N·m", 1], current: [1, "A", 2], distance: [1, "m", 2], energy: [1, "J", 0],
};

function showNumbers(s) {
  // errors of predictions have a plot of their own
  const all = Object.entries(s.numbers).filter(([name]) => name !== "prediction error").slice(0, 7);
  if (s.rover) {
    all.push(["place x, y", `${s.rover.x.toFixed(2)}, ${s.rover.y.toFixed(2)} m`]);
    all.push(["heading", `${((180 / Math.PI) * s.rover.heading).toFixed(0)}°`]);
  }
  const place = by("numbers");
  while (place.children.length > all.length) place.lastChild.remove();
  all.forEach(([name, value], k) => {
    if (!place.children[k]) {
      const cell = document.createElement("div");
      cell.append(document.createElement("label"), document.createElement("b"));
      place.append(cell);
    }
    place.children[k].className = name.startsWith("place") ? "long" : "";
    const [label, number] = place.children[k].children;
    if (label.textContent !== name) label.textContent = name;
    const text = typeof value === "string" ? value : numberText(name, value);
    if (number.textContent !== text) number.textContent = text;
  });
}

function numberText(name, value) {
  if (value === null) return "–";
  const [factor, unit, digits] = UNITS[name.split(" ")[0]] ?? [1, "", null];
  const scaled = factor * value;
  const text = digits === null ? String(+scaled.toPrecision(3)) : scaled.toFixed(digits);
  return `${text.replace(/^-(0(\.0*)?)$/, "$1")} ${unit}`.trim();
}

function showOrders(s) {
  const key = JSON.stringify(s.orders);
  set("queue-counts", s.queue);
  const list = by("orders");
  if (list.dataset.key === key || !(s.orders.length || list.dataset.key)) return;
  list.dataset.key = key;
  // newest first: what was just ordered is what one looks for
  list.replaceChildren(...s.orders.slice().reverse().map((order) => {
    const row = document.createElement("li");
    const id = document.createElement("span");
    id.className = "id";
    id.textContent = order.id;
    const words = document.createElement("span");
    words.textContent = order.words;
    if (order.reason) {
      const reason = document.createElement("span");
      reason.className = "reason";
      reason.textContent = order.reason;
      words.append(reason);
    }
    const mark = document.createElement("span");
    mark.className = `state ${order.state.replaceAll(" ", "-")}`;
    row.className = order.open ? "open" : "";
    mark.textContent = order.state;
    mark.title = `since ${seconds(order.since)}`;
    row.append(id, words, mark);
    return row;
  }));
}

function showPlots() {
  const newest = plots.errors.at(-1);
  set("error-now", newest ? `${centimetres(newest[1])}, after ${centimetres(newest[3])} driven` : "");
  drawErrors(by("error-plot"), plots.errors);
  showBeliefs(by("beliefs"), plots.beliefs);
}
window.addEventListener("resize", showPlots);

function toast(text, good) {
  const line = document.createElement("p");
  line.textContent = text;
  line.className = good ? "" : "bad";
  by("toasts").append(line);
  while (by("toasts").children.length > 4) by("toasts").firstChild.remove();
  setTimeout(() => line.remove(), good ? 4000 : 8000);
}

// --- driving

const input = new Input(by("stick"), {
  steer(forward, left, held) {
    const knob = by("stick").firstElementChild;
    knob.style.transform = `translate(${-46 * left}px, ${-46 * forward}px)`;
    const still = forward === 0 && left === 0;
    by("stick").classList.toggle("held", !still);
    const mine = me.hadControl;
    set("steering", still ? "released"
      : `${Math.round(100 * forward)} % ahead, ${Math.round(100 * left)} % left (${held})`);
    if (mine) link.send("stick", { forward, left });
    else if (!still) set("steering", "take control to drive");
  },
  stop: (why) => stopRover(why),
});

function stopRover(why) {
  if (!link.send("stop", { reason: `by the operator, ${why}` })) {
    toast("The stop could not be sent: the page is not connected.", false);
  }
}

by("stop").onclick = () => {
  stopRover("button");
  input.release();
};
by("resume").onclick = () => link.send("resume");
by("flush").onclick = () => link.send("flush");
by("flush-all").onclick = () => link.send("flush", { current: true });
by("take").onclick = () => link.send("take");
by("pause").onclick = () => link.send("pause", { on: !state?.paused });
for (const button of by("cameras").children) {
  button.onclick = () => {
    link.send("camera", { mode: button.dataset.camera });
    for (const one of by("cameras").children) one.classList.toggle("on", one === button);
  };
}

// --- goals by clicks

function setAim(at) {
  if (!me.hadControl) at = "";
  by("view").classList.toggle("aiming", at !== "");
  by("aiming").hidden = at === "";
  set("aiming", at === "goal" ? "Click on the terrain: goal" : "Click on the terrain: next point");
  setGoal(null);
  link.send("aim", { at });
}

function setGoal(place) {
  goal = place;
  by("goal-words").classList.toggle("set", goal !== null);
  showGoal();
}

function showGoal() {
  by("goal-send").disabled = by("goal-drop").disabled = goal === null || !me.hadControl;
  if (goal === null) {
    set("goal-words", by("aim-goal").checked
      ? "Click on the terrain; drag to rotate the camera."
      : "Enable it, then click on the terrain.");
    return;
  }
  const from = state?.prediction ?? state?.rover;
  const way = from ? `, ${Math.hypot(goal.x - from.x, goal.y - from.y).toFixed(2)} m away` : "";
  set("goal-words", `x ${goal.x.toFixed(2)}, y ${goal.y.toFixed(2)} m${way}`);
}

function dropAim() {
  by("aim-goal").checked = false;
  setAim("");
}

by("aim-goal").onchange = () => setAim(by("aim-goal").checked ? "goal" : "");
by("goal-send").onclick = () => {
  link.send("goal", { x: goal.x, y: goal.y });
  setGoal(null);
};
by("goal-drop").onclick = () => {
  link.send("forget");
  setGoal(null);
};

// --- sequences

const sequencer = new Sequencer(link, (at) => {
  by("aim-goal").checked = false;
  setAim(at);
});
by("clear").addEventListener("click", () => (by("legend-preview").hidden = true));
const environment = new Environment(link);
for (const tab of document.querySelectorAll(".tabs button")) {
  tab.onclick = () => {
    for (const one of document.querySelectorAll(".tabs button")) {
      one.classList.toggle("on", one === tab);
      by(one.dataset.tab).hidden = one !== tab;
    }
    sequencer.show(tab.dataset.tab === "sequence");
    showPlots();
  };
}

/** What is asked before something is done anyway: the words of both buttons, and what it is. */
const ASKED = {
  send: ["Send anyway", "Do not send", () => sequencer.ask("send", { anyway: true })],
  back: ["Go back", "Continue editing", () => link.send("environment", { do: "back", anyway: true })],
};

function ask({ text, about }) {
  const dialog = by("ask");
  const [yes, no, act] = ASKED[about];
  dialog.querySelector("p").textContent = text;
  for (const button of dialog.querySelectorAll("button")) {
    button.textContent = button.value === "yes" ? yes : no;
    button.onclick = () => {
      dialog.close();
      if (button.value === "yes") act();
    };
  }
  dialog.showModal();
}

link.connect();
