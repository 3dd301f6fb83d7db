// Plots of a page, drawn as SVG without any library: zoom, and one cursor across all plots over time.
//
// Drag: zoom. Double click, Escape: back. Ctrl and wheel, pinch, + and −: zoom about the cursor.
// Arrows: move the cursor. Click: take the replay, where there is one, to that time.
"use strict";
(() => {
  const holder = document.getElementById("plot-data");
  const data = holder ? JSON.parse(holder.textContent) : { arrays: [], plots: [] };
  const arrays = data.arrays.map((text) =>
    new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer));
  const LEFT = 58, RIGHT = 10, TOP = 8, AXIS = 24, LEAST = 8, PAPER = 680; // [pixels]
  const FEW = 300; // points of a cloud below which each is a dot
  let printing = false;

  // --- numbers and ticks
  const superscript = (n) => String(n).replace(/[-0-9]/g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
  const write = (value, digits = 4) => {
    if (!Number.isFinite(value)) return "–";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e5 || size < 1e-3) {
      const [m, e] = value.toExponential(digits - 1).split("e");
      return `${parseFloat(m)}·10${superscript(parseInt(e, 10))}`.replace(/^-/, "−");
    }
    return String(parseFloat(value.toPrecision(digits))).replace(/^-/, "−");
  };
  const niceTicks = (low, high, most) => {
    const raw = (high - low) / most, power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((k) => k * power >= raw * 0.999);
    const out = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) out.push(k * step);
    return out;
  };
  // numbers of an axis: as many decimals as the step needs, or a power of ten that all share
  const tickTexts = (ticks) => {
    const size = Math.max(...ticks.map(Math.abs));
    const power = size >= 1e5 || (size > 0 && size < 1e-2) ? Math.floor(Math.log10(size)) : 0;
    const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) / 10 ** power : 1;
    const decimals = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step) - 1e-9)));
    const texts = ticks.map((t) => (t / 10 ** power).toFixed(decimals).replace(/^-(?=.*[1-9])/, "−"));
    return [texts.map((t) => t.replace(/^-/, "")), power ? `×10${superscript(power)}` : ""];
  };
  const nearest = (x, at) => {
    let a = 0, b = x.length - 1;
    while (b - a > 1) { const m = (a + b) >> 1; if (x[m] <= at) a = m; else b = m; }
    return at - x[a] < x[b] - at ? a : b;
  };

  // --- elements
  const make = (name, attributes = {}, parent = null, text = "") => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    if (text) e.textContent = text;
    if (parent) parent.append(e);
    return e;
  };
  const html = (name, kind, parent, text = "") => {
    const e = document.createElement(name);
    if (kind) e.className = kind;
    if (text) e.textContent = text;
    if (parent) parent.append(e);
    return e;
  };
  const keySample = (curve, parent) => {
    const svg = make("svg", { class: "sample", viewBox: "0 0 22 8", width: 22, height: 8 }, parent);
    const d = curve.points ? "M11 4h0" : curve.upper === null ? "M1 4H21" : "M1 1H21V7H1Z";
    const line = make("path", { d, class: "curve" }, svg);
    look(line, { ...curve, dots: curve.points });
  };
  const look = (path, curve) => {
    if (curve.upper !== null) {
      path.style.fill = curve.colour;
      path.style.fillOpacity = 0.25;
      return;
    }
    path.style.stroke = curve.colour;
    path.style.strokeWidth = curve.dots ? 6 : curve.points ? 3 : curve.width;
    if (curve.points) path.style.strokeLinecap = "round";
    if (curve.points && !curve.dots) path.style.strokeOpacity = 0.45;
    if (curve.dash && !curve.points) path.style.strokeDasharray = curve.dash;
  };

  // --- groups: plots that share zoom and cursor
  class Group {
    constructor() { this.view = null; this.cursor = null; this.plots = []; }
    zoom(view) {
      this.view = view;
      for (const plot of this.plots) plot.draw();
    }
    point(cursor) {
      this.cursor = cursor;
      for (const plot of this.plots) plot.mark();
    }
  }
  const overTime = new Group();

  class Plot {
    constructor(figure, about) {
      this.about = about;
      this.group = about.linked ? overTime : new Group();
      this.group.plots.push(this);
      const bar = html("div", "plot-bar", null);
      this.reset = html("button", "reset", bar, "Reset zoom");
      this.reset.type = "button";
      this.reset.hidden = true;
      this.reset.onclick = () => this.group.zoom(null);
      const body = html("div", "panels", null);
      figure.prepend(bar, body);
      this.panels = about.panels.map((p, k) => this.build(p, body, k === about.panels.length - 1));
      new ResizeObserver(() => this.draw()).observe(body);
    }

    build(about, body, last) {
      const box = html("div", "panel", body);
      const head = html("div", "panel-head", box);
      html("span", "panel-label", head, about.label);
      const power = html("span", "panel-power", head);
      const legend = html("ul", "legend", head);
      const values = about.curves.map((curve) => {
        const item = html("li", "", legend);
        if (curve.name) {
          keySample(curve, item);
          html("span", "", item, curve.name);
        }
        return html("output", "", item);
      });
      const svg = make("svg", {
        class: "canvas", tabindex: 0, role: "img",
        "aria-label": `${this.about.title}: ${about.label}` }, box);
      const panel = { about, svg, values, power, last, head, extra: null };
      if (!this.about.along) panel.extra = html("output", "at", head);
      else if (!this.about.linked && body.children.length === 1) this.at = html("output", "at", head);
      this.listen(panel);
      return panel;
    }

    // the part of x that is shown
    span() {
      return this.group.view ? this.group.view.x : this.about.x_limits;
    }

    // the part of y that is shown: what was given, else as far as the curves in sight go
    rise(about, [x0, x1]) {
      if (this.group.view && this.group.view.y) return this.group.view.y;
      if (about.limits && !this.group.view) return about.limits;
      let low = Infinity, high = -Infinity;
      const ends = about.curves.flatMap((c) => [[c.x, c.y], ...(c.upper === null ? [] : [[c.x, c.upper]])]);
      for (const [xs, ys] of ends) {
        const x = arrays[xs], y = arrays[ys];
        for (let k = 0; k < x.length; k++) {
          if (x[k] < x0 || x[k] > x1 || !Number.isFinite(y[k])) continue;
          if (about.logarithmic && y[k] <= 0) continue;
          if (y[k] < low) low = y[k];
          if (y[k] > high) high = y[k];
        }
      }
      if (low > high) return about.limits || [0, 1];
      if (about.logarithmic) return [low / 1.5, high * 1.5];
      const room = 0.06 * (high - low) || 0.05 * Math.abs(high) || 1;
      return [low - room, high + room];
    }

    draw() {
      this.reset.hidden = !this.group.view;
      for (const panel of this.panels) this.drawPanel(panel);
      this.mark();
    }

    drawPanel(panel) {
      const { svg, about, last } = panel;
      const width = Math.min(svg.parentNode.clientWidth, printing ? PAPER : Infinity);
      if (!width) return; // in a part of the page that is folded
      const inner = Math.max(width - LEFT - RIGHT, 40);
      let [x0, x1] = this.span(), [y0, y1] = this.rise(about, [x0, x1]);
      let tall = this.about.linked ? 150 : [280, 200, 150][Math.min(this.panels.length, 3) - 1];
      if (this.about.equal) {
        tall = Math.min(Math.max(inner * (y1 - y0) / (x1 - x0), 120), 420);
        const wide = (y1 - y0) * inner / tall, high = (x1 - x0) * tall / inner;
        if (wide > x1 - x0) [x0, x1] = [(x0 + x1 - wide) / 2, (x0 + x1 + wide) / 2];
        else [y0, y1] = [(y0 + y1 - high) / 2, (y0 + y1 + high) / 2];
      }
      const labels = last || !this.about.along;
      const height = TOP + tall + (labels ? AXIS + 14 : 6);
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      svg.replaceChildren();
      const f = about.logarithmic ? Math.log10 : (v) => v, g0 = f(y0), g1 = f(y1);
      const X = (x) => LEFT + (x - x0) / (x1 - x0) * inner;
      const Y = (y) => TOP + (1 - (f(y) - g0) / (g1 - g0)) * tall;
      Object.assign(panel, { X, Y, x0, x1, y0, y1, inner, tall });

      const grid = make("g", { class: "grid" }, svg);
      const named = this.about.x_ticks;
      const across = named.length ? named.map(([v]) => v).filter((v) => v >= x0 && v <= x1)
        : niceTicks(x0, x1, Math.max(2, Math.min(8, inner / 80)));
      const xTexts = named.length ? across.map((v) => named.find(([w]) => w === v)[1])
        : tickTexts(across)[0];
      across.forEach((x, k) => {
        make("path", { d: `M${X(x).toFixed(1)} ${TOP}v${tall}` }, grid);
        if (labels) make("text", { x: X(x), y: TOP + tall + 15, class: "below" }, grid, xTexts[k]);
      });
      if (labels) {
        make("text", { x: LEFT + inner / 2, y: height - 4, class: "below name" }, grid,
          about.x_label || this.about.x_label);
      }
      let ups = about.ticks.map(([v]) => v), texts = about.ticks.map(([, name]) => name), power = "";
      if (!ups.length && about.logarithmic) {
        const step = Math.max(1, Math.ceil((g1 - g0) / 5));
        for (let e = Math.ceil(g0); e <= g1; e += step) ups.push(10 ** e);
        texts = ups.map((v) => `10${superscript(Math.round(Math.log10(v)))}`);
      } else if (!ups.length) {
        ups = niceTicks(y0, y1, Math.max(2, tall / 36));
        if (about.whole) ups = ups.filter(Number.isInteger);
        [texts, power] = tickTexts(ups);
      }
      panel.power.textContent = power;
      ups.forEach((y, k) => {
        if (y < y0 || y > y1) return;
        make("path", { d: `M${LEFT} ${Y(y).toFixed(1)}h${inner}` }, grid);
        make("text", { x: LEFT - 6, y: Y(y) + 4, class: "beside" }, grid, texts[k]);
      });
      make("path", { d: `M${LEFT} ${TOP}v${tall}h${inner}`, class: "frame" }, grid);

      const cut = make("svg", { x: LEFT, y: 0, width: inner, height: TOP + tall + 1,
        viewBox: `${LEFT} 0 ${inner} ${TOP + tall + 1}` }, svg);
      const curves = make("g", { class: "curves" }, cut);
      for (const curve of about.curves) {
        const path = make("path", { class: "curve", d: this.outline(curve, X, Y, about) }, curves);
        look(path, { ...curve, dots: curve.points && arrays[curve.x].length < FEW });
        if (!curve.dots) continue;
        const d = this.outline({ ...curve, points: true }, X, Y, about);
        look(make("path", { class: "curve", d }, curves), { ...curve, points: true });
      }
      panel.area = make("rect", { class: "area", y: TOP, height: tall, width: 0 }, cut);
      panel.cursor = make("path", { class: "cursor", d: "" }, cut);
    }

    // what is between a curve and the one above it, as far as both are known
    band(curve, X, Y) {
      const x = arrays[curve.x], low = arrays[curve.y], high = arrays[curve.upper];
      const parts = [];
      let there = [], back = [];
      const close = () => {
        if (there.length > 1) parts.push(`M${there.join("L")}L${back.reverse().join("L")}Z`);
        there = [];
        back = [];
      };
      for (let k = 0; k < x.length; k++) {
        if (!Number.isFinite(low[k]) || !Number.isFinite(high[k])) { close(); continue; }
        there.push(`${X(x[k]).toFixed(1)} ${Y(low[k]).toFixed(1)}`);
        back.push(`${X(x[k]).toFixed(1)} ${Y(high[k]).toFixed(1)}`);
      }
      close();
      return parts.join("");
    }

    outline(curve, X, Y, about) {
      if (curve.upper !== null) return this.band(curve, X, Y);
      const x = arrays[curve.x], y = arrays[curve.y], [x0, x1] = this.span();
      const parts = [], room = (x1 - x0) * 0.05;
      let pen = false;
      for (let k = 0; k < x.length; k++) {
        if (!Number.isFinite(y[k]) || !Number.isFinite(x[k]) || (about.logarithmic && y[k] <= 0)) {
          pen = false;
          continue;
        }
        if (this.about.linked) {
          // of what lies outside only the neighbours of what is shown
          if (k + 1 < x.length && x[k + 1] < x0 - room) continue;
          if (k > 0 && x[k - 1] > x1 + room) break;
        }
        const at = `${X(x[k]).toFixed(1)} ${Y(y[k]).toFixed(1)}`;
        if (curve.points) parts.push(`M${at}h0`);
        else parts.push((pen ? "L" : "M") + at);
        pen = true;
      }
      return parts.join("");
    }

    // --- cursor
    mark() {
      const at = this.group.cursor;
      for (const panel of this.panels) {
        if (!panel.cursor) continue;
        const shown = at !== null && at.x >= panel.x0 && at.x <= panel.x1;
        panel.cursor.setAttribute("d", shown ? `M${panel.X(at.x).toFixed(1)} ${TOP}v${panel.tall}` : "");
        if (panel.extra) {
          const here = shown && at.panel === panel;
          panel.extra.textContent = here ? `(${write(at.x)}, ${write(at.y)})` : "";
          continue;
        }
        panel.about.curves.forEach((curve, k) => {
          if (curve.points || curve.upper !== null) return;
          const value = shown ? arrays[curve.y][nearest(arrays[curve.x], at.x)] : NaN;
          const name = panel.about.ticks.find(([v]) => v === Math.round(value));
          panel.values[k].textContent = shown ? (name ? name[1] : write(value)) : "";
        });
      }
      if (this.at) {
        const named = at && this.about.x_ticks.find(([v]) => v === Math.round(at.x));
        this.at.textContent = at ? `${this.about.x_label}: ${named ? named[1] : write(at.x)}` : "";
      }
      const label = document.getElementById("cursor-time");
      if (label && this.group === overTime) label.textContent = at ? `t = ${write(at.x)} s` : "";
    }

    // --- pointer and keys
    listen(panel) {
      const { svg } = panel, touches = new Map();
      let start = null, pinch = null;
      const where = (e) => {
        const box = svg.getBoundingClientRect();
        const x = (e.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
        const y = (e.clientY - box.top) * svg.viewBox.baseVal.height / box.height;
        const share = Math.min(Math.max((x - LEFT) / panel.inner, 0), 1);
        return { x: panel.x0 + share * (panel.x1 - panel.x0), panel, px: LEFT + share * panel.inner,
          y: panel.y0 + (1 - (y - TOP) / panel.tall) * (panel.y1 - panel.y0) };
      };
      svg.onpointerdown = (e) => {
        if (e.button) return;
        svg.setPointerCapture(e.pointerId);
        touches.set(e.pointerId, where(e));
        start = { ...where(e), touch: e.pointerType === "touch" };
        if (touches.size === 2) pinch = [...touches.values()].map((t) => t.x);
        this.group.point(where(e));
      };
      svg.onpointermove = (e) => {
        const at = where(e);
        if (touches.has(e.pointerId)) touches.set(e.pointerId, at);
        if (touches.size === 2 && pinch) {
          this.pinch(pinch, [...touches.values()].map((t) => (t.px - LEFT) / panel.inner));
          return;
        }
        this.group.point(at);
        if (start && !start.touch && touches.size) {
          panel.area.setAttribute("x", Math.min(start.px, at.px));
          panel.area.setAttribute("width", Math.abs(at.px - start.px));
        }
      };
      const end = (e, done) => {
        const at = where(e), from = start, several = touches.size > 1;
        touches.delete(e.pointerId);
        start = null;
        if (touches.size === 0) pinch = null;
        if (panel.area) panel.area.setAttribute("width", 0);
        if (!done || !from || several) return;
        if (Math.abs(at.px - from.px) > LEAST && !from.touch) this.select(from, at);
        else if (this.about.linked) {
          document.dispatchEvent(new CustomEvent("replay-seek", { detail: at.x }));
        }
      };
      svg.onpointerup = (e) => end(e, true);
      svg.onpointercancel = (e) => end(e, false);
      svg.onpointerleave = (e) => {
        if (e.pointerType === "mouse" && !touches.size) this.group.point(null);
      };
      svg.ondblclick = () => this.group.zoom(null);
      svg.addEventListener("wheel", (e) => {
        if (!e.ctrlKey) return; // else the page scrolls
        e.preventDefault();
        this.scale(where(e).x, Math.exp(0.002 * e.deltaY));
      }, { passive: false });
      svg.onkeydown = (e) => {
        const [x0, x1] = this.span(), step = (x1 - x0) / (e.shiftKey ? 20 : 200);
        const at = this.group.cursor ? this.group.cursor.x : (x0 + x1) / 2;
        const to = { ArrowLeft: at - step, ArrowRight: at + step, Home: x0, End: x1 }[e.key];
        if (to !== undefined) this.group.point({ x: Math.min(Math.max(to, x0), x1), y: NaN, panel });
        else if (e.key === "+" || e.key === "=") this.scale(at, 0.5);
        else if (e.key === "-") this.scale(at, 2);
        else if (e.key === "Escape" || e.key === "0") this.group.zoom(null);
        else return;
        e.preventDefault();
      };
    }

    select(a, b) {
      const x = [Math.min(a.x, b.x), Math.max(a.x, b.x)];
      const panel = a.panel, middle = (a.y + b.y) / 2;
      const half = (x[1] - x[0]) * panel.tall / panel.inner / 2;
      this.group.zoom({ x, y: this.about.equal ? [middle - half, middle + half] : null });
    }

    scale(at, factor) {
      const [a, b] = this.about.x_limits, [x0, x1] = this.span();
      const x = [at - (at - x0) * factor, at + (x1 - at) * factor];
      if (x[1] - x[0] >= b - a) this.group.zoom(null);
      else if (x[1] - x[0] > 1e-6 * (b - a)) this.group.zoom({ x, y: null });
    }

    // the two places stay under the two fingers
    pinch([a, b], [s, t]) {
      if (Math.abs(t - s) < 0.02 || a === b) return;
      const wide = (b - a) / (t - s);
      if (wide > 0) this.group.zoom({ x: [a - s * wide, a + (1 - s) * wide], y: null });
    }
  }

  const plots = [...document.querySelectorAll("figure[data-plot]")].map((figure) =>
    new Plot(figure, data.plots[Number(figure.dataset.plot)]));

  document.addEventListener("replay-time", (e) => overTime.point({ x: e.detail, y: NaN, panel: null }));

  // --- folded parts: opened by links to them and for printing
  const parts = [...document.querySelectorAll("details.part")];
  const openTarget = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target && target.matches("details.part")) {
      target.open = true;
      target.scrollIntoView();
    }
  };
  window.addEventListener("hashchange", openTarget);
  document.querySelectorAll(".contents a").forEach((a) => a.addEventListener("click", () => {
    if (a.hash === location.hash) openTarget();
  }));
  const all = document.getElementById("open-all");
  if (all) {
    all.onclick = () => {
      const open = parts.some((p) => !p.open);
      parts.forEach((p) => { p.open = open; });
      all.textContent = open ? "Close all" : "Open all";
    };
  }
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = parts.filter((p) => !p.open);
    folded.forEach((p) => { p.open = true; });
    printing = true;
    plots.forEach((p) => p.draw());
  });
  window.addEventListener("afterprint", () => {
    folded.forEach((p) => { p.open = false; });
    printing = false;
    plots.forEach((p) => p.draw());
  });
  openTarget();
})();
