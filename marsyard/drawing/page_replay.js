// Replay of a run in WebGL 2, without any library: rover, ground with its ruts, camera, time.
"use strict";
(() => {
  const root = document.getElementById("replay"), canvas = root.querySelector("canvas");
  const data = JSON.parse(document.getElementById("replay-data").textContent);
  const gl = canvas.getContext("webgl2", { antialias: true });
  if (!gl) {
    root.innerHTML = "<p class='soft'>This browser shows no WebGL 2.</p>";
    return;
  }

  // --- arrays: whole numbers of 16 bits, value = offset + scale * number
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const numbers = (a) => {
    const q = new Uint16Array(bytes(a.data).buffer);
    return Float32Array.from(q, (v) => a.offset + a.scale * v);
  };
  const indices = (text) => new Uint32Array(bytes(text).buffer);

  // --- programs
  const program = (vertex, fragment) => {
    const p = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const s = gl.createShader(kind);
      gl.shaderSource(s, "#version 300 es\nprecision highp float;\n" + text);
      gl.compileShader(s);
      gl.attachShader(p, s);
    }
    gl.linkProgram(p);
    return p;
  };
  // faces are lit by their own normals
  const light = `
    in vec3 at; out vec4 colour;
    vec3 lit(vec3 c) {
      vec3 n = normalize(cross(dFdx(at), dFdy(at)));
      float sun = max(dot(n, normalize(vec3(-0.5, 0.5, 0.75))), 0.0);
      return c * (0.45 + 0.62 * sun);
    }`;
  const bodyProgram = program(
    `uniform mat4 view, body; in vec3 place; in vec3 tint; out vec3 at; out vec3 paint;
     void main() { vec4 p = body * vec4(place, 1.0); at = p.xyz; paint = tint;
       gl_Position = view * p; }`,
    light + "in vec3 paint; void main() { colour = vec4(lit(paint), 1.0); }"
  );
  const groundProgram = program(
    `uniform mat4 view; uniform float now; in vec3 place; in vec2 rut; out vec3 at; out float dug;
     void main() { dug = rut.y <= now ? rut.x : 0.0; at = place + vec3(0.0, 0.0, dug);
       gl_Position = view * vec4(at, 1.0); }`,
    light + `in float dug; void main() {
       vec3 sand = vec3(0.80, 0.62, 0.46);
       vec2 grid = abs(fract(at.xy - 0.5) - 0.5) / fwidth(at.xy);
       float line = 0.10 * (1.0 - min(min(grid.x, grid.y), 1.0));
       colour = vec4(lit(sand) * (1.0 - line - clamp(-8.0 * dug, 0.0, 0.25)), 1.0); }`
  );
  const lineProgram = program(
    "uniform mat4 view; in vec3 place; void main() { gl_Position = view * vec4(place, 1.0); }",
    "uniform vec3 ink; out vec4 colour; void main() { colour = vec4(ink, 1.0); }"
  );

  // --- meshes
  const mesh = (p, attributes, triangles) => {
    const vao = gl.createVertexArray();
    gl.bindVertexArray(vao);
    for (const [name, values, size] of attributes) {
      const where = gl.getAttribLocation(p, name);
      if (where < 0) continue;
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(where);
      gl.vertexAttribPointer(where, size, gl.FLOAT, false, 0, 0);
    }
    if (!triangles) return { vao, count: attributes[0][1].length / 3 };
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, triangles, gl.STATIC_DRAW);
    return { vao, count: triangles.length };
  };
  const bodies = data.bodies.map((b) =>
    mesh(bodyProgram, [["place", numbers(b.place), 3], ["tint", numbers(b.tint), 3]],
      indices(b.triangles)));
  const g = data.ground, nx = g.nx, ny = g.ny;
  const z = numbers(g.height), change = numbers(g.change), when = numbers(g.time);
  const place = new Float32Array(3 * nx * ny), rut = new Float32Array(2 * nx * ny);
  for (let j = 0, k = 0; j < ny; j++) for (let i = 0; i < nx; i++, k++) {
    place.set([g.x0 + i * g.step, g.y0 + j * g.step, z[k]], 3 * k);
    rut.set([change[k], when[k]], 2 * k);
  }
  const cells = new Uint32Array(6 * (nx - 1) * (ny - 1));
  for (let j = 0, n = 0; j < ny - 1; j++) for (let i = 0; i < nx - 1; i++, n += 6) {
    const a = j * nx + i;
    cells.set([a, a + 1, a + nx + 1, a, a + nx + 1, a + nx], n);
  }
  const ground = mesh(groundProgram, [["place", place, 3], ["rut", rut, 2]], cells);
  const zones = data.zones.map((zone) => mesh(lineProgram, [["place", numbers(zone), 3]]));
  const gates = (data.gates ?? []).map(([line, ink]) =>
    [mesh(lineProgram, [["place", numbers(line), 3]]), ink]);
  const track = mesh(lineProgram, [["place", numbers(data.track), 3]]);

  // --- frames
  const time = numbers(data.time), position = numbers(data.position);
  const turn = numbers(data.quaternion), base = numbers(data.base);
  const count = data.bodies.length, last = time.length - 1;
  const between = (values, size, f, k, t) => {
    const a = size * (f * count + k), b = size * (Math.min(f + 1, last) * count + k);
    return Array.from({ length: size }, (_, i) => values[a + i] * (1 - t) + values[b + i] * t);
  };
  const pose = (f, k, t) => {
    const [x, y, h] = between(position, 3, f, k, t);
    let [w, i, j, l] = between(turn, 4, f, k, t);
    const s = 1 / (Math.hypot(w, i, j, l) || 1);
    w *= s; i *= s; j *= s; l *= s;
    return new Float32Array([
      1 - 2 * (j * j + l * l), 2 * (i * j + w * l), 2 * (i * l - w * j), 0,
      2 * (i * j - w * l), 1 - 2 * (i * i + l * l), 2 * (j * l + w * i), 0,
      2 * (i * l + w * j), 2 * (j * l - w * i), 1 - 2 * (i * i + j * j), 0, x, y, h, 1]);
  };

  // --- camera: around the rover
  const camera = { azimuth: -2.3, height: 0.45, distance: 3.1 * data.size };
  const sub = (a, b) => a.map((v, k) => v - b[k]);
  const dot = (a, b) => a.reduce((s, v, k) => s + v * b[k], 0);
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
    a[0] * b[1] - a[1] * b[0]];
  const unit = (a) => a.map((v) => v / Math.sqrt(dot(a, a)));
  const view = (target) => {
    const c = Math.cos(camera.height), far = camera.distance;
    const eye = [target[0] + far * c * Math.cos(camera.azimuth),
      target[1] + far * c * Math.sin(camera.azimuth), target[2] + far * Math.sin(camera.height)];
    const back = unit(sub(eye, target)), right = unit(cross([0, 0, 1], back));
    const up = cross(back, right);
    const f = 1 / Math.tan(0.36), a = canvas.width / canvas.height, n = 0.05, m = 200;
    const rows = [[f / a, right], [f, up]].map(([s, v]) => [...v.map((x) => s * x), -s * dot(v, eye)]);
    const depth = [...back, -dot(back, eye)].map((v) => v * (m + n) / (n - m));
    depth[3] += 2 * m * n / (n - m);
    const w = [...back.map((v) => -v), dot(back, eye)];
    const out = new Float32Array(16);
    [...rows, depth, w].forEach((row, r) => row.forEach((v, k) => { out[4 * k + r] = v; }));
    return out;
  };

  // --- drawing
  const slider = root.querySelector("input"), play = root.querySelector("button");
  const speed = root.querySelector("select"), label = root.querySelector("output");
  let now = 0, playing = false, before = 0;
  slider.max = time[last];
  const at = (p, name) => gl.getUniformLocation(p, name);
  const draw = () => {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = canvas.clientHeight * ratio;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0.93, 0.86, 0.78, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    let f = 0;
    while (f < last - 1 && time[f + 1] <= now) f++;
    const t = Math.min(Math.max((now - time[f]) / (time[f + 1] - time[f] || 1), 0), 1);
    const b = [0, 1, 2].map((k) => base[3 * f + k] * (1 - t) + base[3 * Math.min(f + 1, last) + k] * t);
    const matrix = view(b);
    gl.useProgram(groundProgram);
    gl.uniformMatrix4fv(at(groundProgram, "view"), false, matrix);
    gl.uniform1f(at(groundProgram, "now"), now);
    gl.bindVertexArray(ground.vao);
    gl.drawElements(gl.TRIANGLES, ground.count, gl.UNSIGNED_INT, 0);
    gl.useProgram(lineProgram);
    gl.uniformMatrix4fv(at(lineProgram, "view"), false, matrix);
    gl.uniform3f(at(lineProgram, "ink"), 0.7, 0.14, 0.09);
    for (const zone of zones) {
      gl.bindVertexArray(zone.vao);
      gl.drawArrays(gl.LINE_STRIP, 0, zone.count);
    }
    for (const [gate, ink] of gates) {
      gl.uniform3f(at(lineProgram, "ink"), ...ink);
      gl.bindVertexArray(gate.vao);
      gl.drawArrays(gl.LINE_STRIP, 0, gate.count);
    }
    gl.uniform3f(at(lineProgram, "ink"), 0.04, 0.24, 0.55);
    gl.bindVertexArray(track.vao);
    gl.drawArrays(gl.LINE_STRIP, 0, track.count);
    gl.useProgram(bodyProgram);
    gl.uniformMatrix4fv(at(bodyProgram, "view"), false, matrix);
    bodies.forEach((body, k) => {
      gl.uniformMatrix4fv(at(bodyProgram, "body"), false, pose(f, k, t));
      gl.bindVertexArray(body.vao);
      gl.drawElements(gl.TRIANGLES, body.count, gl.UNSIGNED_INT, 0);
    });
    const command = data.commands.filter((c) => c[0] <= now + 1e-6).pop();
    label.textContent = `${now.toFixed(1)} s` + (command ? `  ·  ${command[1]}` : "");
  };
  // plots in the same page show this time with their cursor, and take the replay to theirs
  const tell = () => document.dispatchEvent(new CustomEvent("replay-time", { detail: now }));
  document.addEventListener("replay-seek", (e) => {
    now = Math.min(Math.max(e.detail, time[0]), time[last]);
    slider.value = now;
    draw();
  });
  // what WebGL has drawn is not printed
  let picture = null;
  window.addEventListener("beforeprint", () => {
    draw();
    picture = new Image();
    picture.src = canvas.toDataURL();
    picture.style.cssText = "width:100%;border-radius:.4rem";
    canvas.before(picture);
    canvas.style.display = "none";
  });
  window.addEventListener("afterprint", () => {
    canvas.style.display = "";
    if (picture) picture.remove();
    draw();
  });
  const step = (clock) => {
    if (!playing) return;
    now += Math.min(clock - before, 100) / 1000 * parseFloat(speed.value);
    before = clock;
    if (now >= time[last]) { now = time[last]; playing = false; play.textContent = "play"; }
    slider.value = now;
    draw();
    tell();
    requestAnimationFrame(step);
  };
  play.onclick = () => {
    playing = !playing;
    play.textContent = playing ? "pause" : "play";
    if (playing && now >= time[last]) now = 0;
    before = performance.now();
    requestAnimationFrame(step);
  };
  slider.oninput = () => { now = parseFloat(slider.value); draw(); tell(); };
  canvas.onpointerdown = (e) => canvas.setPointerCapture(e.pointerId);
  canvas.onpointermove = (e) => {
    if (!e.buttons) return;
    camera.azimuth -= 0.008 * e.movementX;
    camera.height = Math.min(Math.max(camera.height + 0.006 * e.movementY, 0.03), 1.5);
    draw();
  };
  canvas.tabIndex = 0;
  canvas.onwheel = (e) => {
    if (!e.ctrlKey && document.activeElement !== canvas) return; // the page scrolls
    e.preventDefault();
    camera.distance = Math.min(Math.max(camera.distance * Math.exp(0.001 * e.deltaY), 0.5), 80);
    draw();
  };
  window.addEventListener("resize", draw);
  now = data.start;
  slider.value = now;
  draw();
})();
