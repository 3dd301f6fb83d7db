// Supervised mode: a sequence is put together, looked at, judged and sent. Its text is what counts.

const by = (id) => document.getElementById(id);

/** Fields of each kind of command: name, words, value, unit; an empty one is left out. */
const FIELDS = {
  goal: [["speed", "speed", "4", "cm/s"]],
  path: [["speed", "speed", "4", "cm/s"]],
  arc: [["radius", "radius", "", "m"], ["length", "length", "1", "m"], ["speed", "at", "4", "cm/s"]],
  turn: [["turn", "by", "45", "deg"]],
  wait: [["wait", "for", "10", "s"]],
};
const TITLES = {
  radius: "positive to the left, empty for straight on", length: "negative to drive backwards",
  turn: "positive to the left",
};

export class Sequencer {
  constructor(link, aim) {
    this.link = link;
    this.aim = aim; // called with "point" or "" when clicks are wanted or not
    this.points = [];
    this.commands = [];
    this.verdicts = [];
    this.judgedText = null;
    this.shown = false;
    by("kind").onchange = () => this.choose();
    by("add").onclick = () => this.add();
    by("text").oninput = () => this.typed();
    for (const name of ["preview", "validate", "send"]) by(name).onclick = () => this.ask(name);
    by("record").onclick = () => link.send("record");
    by("cancel").onclick = () => link.send("cancel");
    by("clear").onclick = () => this.clear();
    by("save").onclick = () => this.save();
    by("load").onclick = () => by("file").click();
    by("file").onchange = () => this.load();
    this.choose();
  }

  get text() {
    return by("text").value;
  }

  set text(value) {
    by("text").value = value;
  }

  get clicks() {
    return this.shown && ["goal", "path"].includes(by("kind").value);
  }

  /** The tab is shown or hidden. */
  show(shown) {
    this.shown = shown;
    this.points = [];
    this.aim(this.clicks ? "point" : "");
    this.offerAdd();
  }

  choose() {
    const kind = by("kind").value;
    const fields = FIELDS[kind].map(([name, words, value, unit]) => {
      const label = document.createElement("label");
      const input = document.createElement("input");
      Object.assign(input, { type: "text", inputMode: "decimal", value, name });
      input.title = TITLES[name] ?? "";
      input.setAttribute("aria-label", `${words} [${unit}]`);
      label.append(words, input, unit);
      return label;
    });
    by("fields").replaceChildren(...fields);
    this.points = [];
    if (this.shown) this.aim(this.clicks ? "point" : "");
    this.offerAdd();
  }

  offerAdd() {
    const kind = by("kind").value;
    by("add").disabled = kind === "goal" || (kind === "path" && this.points.length < 2);
    by("add").textContent = kind === "path" ? `Add (${this.points.length})` : "Add";
    by("add").hidden = kind === "goal";
  }

  /** A click on the terrain. */
  clicked({ x, y }) {
    const point = `[${x.toFixed(3)}, ${y.toFixed(3)}]`;
    if (by("kind").value === "goal") {
      this.change("add", 0, `{goal: ${point}${this.said("speed", ", speed")}}`);
    } else {
      this.points.push(point);
      this.offerAdd();
    }
  }

  /** A field as YAML, with its unit; nothing if it is empty. */
  said(name, key) {
    const input = by("fields").querySelector(`[name=${name}]`);
    const unit = FIELDS[by("kind").value].find((f) => f[0] === name)[3];
    const value = input.value.trim().replace(",", ".");
    if (!value) return "";
    return `${key}: ${JSON.stringify(/^[-+.\d]+(e[-+]?\d+)?$/i.test(value) ? `${value} ${unit}` : value)}`;
  }

  add() {
    const kind = by("kind").value;
    if (kind === "path") {
      this.change("add", 0, `{path: [${this.points.join(", ")}]${this.said("speed", ", speed")}}`);
      this.points = [];
      this.link.send("forget");
      this.offerAdd();
    } else if (kind === "arc") {
      const bend = this.said("radius", "radius") || "curvature: 0";
      const arc = [bend, this.said("length", "length")].filter(Boolean).join(", ");
      this.change("add", 0, `{arc: {${arc}}${this.said("speed", ", speed")}}`);
    } else {
      this.change("add", 0, `{${this.said(kind, kind)}}`);
    }
  }

  change(change, at, line = "") {
    this.link.send("edit", { text: this.text, change, at, line });
  }

  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.link.send("check", { text: this.text }), 250);
    this.markStale();
  }

  ask(name, fields = {}) {
    by("text-words").textContent = "";
    this.link.send(name, { text: this.text, ...fields });
    if (name === "validate") this.judging = this.text;
  }

  clear() {
    this.text = "";
    this.points = [];
    by("verdict").hidden = true;
    this.link.send("forget");
    this.link.send("check", { text: "" });
    this.offerAdd();
  }

  save() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([this.text], { type: "text/yaml" }));
    link.download = "sequence.yaml";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  async load() {
    const [file] = by("file").files;
    by("file").value = "";
    if (!file) return;
    if (file.size > 40000) {
      this.say(`${file.name}: larger than 40 kB`, false);
      return;
    }
    this.text = await file.text();
    this.link.send("check", { text: this.text });
    this.markStale();
  }

  // --- what the desk says

  say(text, good) {
    by("text-words").textContent = text;
    by("text-words").className = good ? "note" : "";
  }

  checked({ good, words, commands, text }) {
    if (text !== undefined && text !== this.text) {
      this.text = text;
      this.markStale();
    }
    by("text").classList.toggle("bad", !good);
    this.say(words, false);
    if (good) this.commands = commands;
    this.list();
  }

  previewed({ outcomes, words }) {
    this.say(`Preview: ${words}.`, true);
    this.outcomes = outcomes;
    this.list();
    const legend = by("legend-preview");
    legend.hidden = false;
    legend.querySelector("b").textContent = words;
  }

  markStale() {
    this.outcomes = [];
    by("verdict").classList.toggle("stale", this.judgedText !== this.text);
    if (this.judgedText !== this.text) this.verdicts = [];
    this.list();
  }

  validation(message) {
    by("progress").hidden = !message.running;
    by("validate").disabled = message.running;
    if (message.running) {
      const share = Math.round(100 * (message.share ?? 0));
      by("progress").style.setProperty("--share", `${share}%`);
      by("progress").querySelector("span").textContent = `${share} %`;
      return;
    }
    const box = by("verdict");
    box.hidden = false;
    box.className = message.verdict ?? "";
    box.querySelector("b").textContent = (message.verdict ?? "No verdict").toUpperCase();
    box.querySelector("span").textContent = message.words;
    const report = box.querySelector("a");
    report.hidden = !message.report;
    if (message.report) report.href = message.report;
    this.verdicts = message.commands ?? [];
    this.judgedText = this.judging ?? this.text;
    this.list();
  }

  list() {
    const rows = this.commands.map((command, k) => {
      const row = document.createElement("li");
      const verdict = this.verdicts[k];
      row.className = verdict?.verdict ?? "";
      const words = document.createElement("div");
      const kind = document.createElement("b");
      kind.textContent = `${k + 1} ${command.kind}`;
      words.append(kind, command.words);
      const more = verdict ? `${verdict.verdict}: ${verdict.words}` : this.outcomes?.[k];
      if (more) {
        const small = document.createElement("small");
        small.textContent = small.title = more;
        words.append(small);
      }
      row.append(words);
      for (const [sign, change] of [["↑", "up"], ["↓", "down"], ["✕", "remove"]]) {
        const button = document.createElement("button");
        button.textContent = sign;
        button.title = change;
        button.onclick = () => this.change(change, k);
        row.append(button);
      }
      return row;
    });
    if (!rows.length) {
      const row = document.createElement("li");
      row.className = "empty";
      row.textContent = "Add commands, type them below, load a file, or record a drive.";
      rows.push(row);
    }
    by("commands").replaceChildren(...rows);
    const none = !this.commands.length;
    for (const id of ["preview", "send", "save"]) by(id).disabled = none;
    by("validate").disabled = none || !this.canValidate || !by("progress").hidden;
  }
}
