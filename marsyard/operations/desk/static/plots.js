// Small plots: the prediction error over time, and what is believed of the soil.

const COLOURS = { grid: "#232d38", text: "#8a97a6", line: "#46a0ff", area: "#46a0ff22" };

/** A step of 1, 2 or 5 times a power of ten, so that `span` has at most `most` of them. */
function step(span, most) {
  const raw = span / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * [1, 2, 5, 10].find((k) => k * power >= raw);
}

export function drawErrors(canvas, errors) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (!width || !height) return;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const c = canvas.getContext("2d");
  c.scale(ratio, ratio);
  c.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  const box = { left: 44, top: 16, right: width - 6, bottom: height - 18 };
  if (errors.length < 2) {
    c.fillStyle = COLOURS.text;
    c.fillText("No prediction has been compared with telemetry yet.", 4, height / 2);
    return;
  }
  const times = errors.map((e) => e[0]);
  const values = errors.map((e) => 100 * e[1]);
  const [first, last] = [times[0], Math.max(times.at(-1), times[0] + 1)];
  const top = Math.max(1, ...values) * 1.1;
  const x = (t) => box.left + ((t - first) / (last - first)) * (box.right - box.left);
  const y = (v) => box.bottom - (v / top) * (box.bottom - box.top);
  axes(c, box, { first, last, top, x, y });
  c.beginPath();
  times.forEach((t, k) => c.lineTo(x(t), y(values[k])));
  c.strokeStyle = COLOURS.line;
  c.lineWidth = 1.5;
  c.stroke();
  c.lineTo(x(times.at(-1)), box.bottom);
  c.lineTo(x(first), box.bottom);
  c.fillStyle = COLOURS.area;
  c.fill();
}

function axes(c, box, { first, last, top, x, y }) {
  c.strokeStyle = COLOURS.grid;
  c.fillStyle = COLOURS.text;
  c.lineWidth = 1;
  c.textAlign = "right";
  const rise = step(top, Math.max(2, (box.bottom - box.top) / 28));
  for (let v = 0; v <= top; v += rise) {
    c.beginPath();
    c.moveTo(box.left, Math.round(y(v)) + 0.5);
    c.lineTo(box.right, Math.round(y(v)) + 0.5);
    c.stroke();
    c.fillText(String(+v.toPrecision(3)), box.left - 6, y(v) + 4);
  }
  c.textAlign = "left";
  c.fillText("cm", 4, 11);
  c.textAlign = "center";
  const wide = step(last - first, 5);
  for (let t = Math.ceil(first / wide) * wide; t <= last; t += wide) {
    if (x(t) < box.right - 26) c.fillText(String(+t.toPrecision(6)), x(t), box.bottom + 14);
  }
  c.textAlign = "right";
  c.fillText("s", box.right, box.bottom + 14);
}

const few = (value, digits) => {
  if (value === null) return "–";
  if (Math.abs(value) >= 1e4) return `${+(value / 1000).toPrecision(digits)}k`;
  return String(+value.toPrecision(digits));
};

/** Units that are easier to read: factor and name. */
const EASIER = { rad: [180 / Math.PI, "°"], m: [1000, "mm"], Pa: [0.001, "kPa"] };

export function showBeliefs(place, beliefs) {
  if (!beliefs.length) return;
  place.replaceChildren(...beliefs.map(beliefRow));
}

function beliefRow(belief) {
  const row = document.createElement("div");
  row.className = "belief";
  const name = document.createElement("label");
  name.textContent = name.title = belief.name.replaceAll("_", " ");
  const value = document.createElement("b");
  const [factor, unit] = EASIER[belief.unit] ?? [1, belief.unit];
  value.textContent =
    `${few(factor * belief.value, 3)} ± ${few(factor * belief.deviation, 2)} ${unit}`;
  row.append(name, scale(belief), value);
  return row;
}

function scale({ prior, value, deviation }) {
  const bar = document.createElement("div");
  bar.className = "scale";
  const reach = 1.15 * Math.max(
    Math.abs(value - prior) + 2 * deviation, 0.3 * Math.abs(prior), 1e-9);
  const at = (v) => 50 + (50 * (v - prior)) / reach;
  const add = (kind, from, width) => {
    const mark = document.createElement(kind);
    mark.style.left = `${Math.max(0, from)}%`;
    if (width !== undefined) mark.style.width = `${Math.min(100, width)}%`;
    bar.append(mark);
  };
  add("i", at(value - 2 * deviation), at(value + 2 * deviation) - at(value - 2 * deviation));
  add("u", at(prior));
  add("s", at(value));
  return bar;
}
