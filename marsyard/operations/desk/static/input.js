// Keyboard, gamepad and the stick on the screen, read ten times a second.

const KEYS = {
  KeyW: [1, 0], ArrowUp: [1, 0], KeyS: [-1, 0], ArrowDown: [-1, 0],
  KeyA: [0, 1], ArrowLeft: [0, 1], KeyD: [0, -1], ArrowRight: [0, -1],
};
const PERIOD = 100; // [ms]
const FINE = 0.3; // of the full stroke, with shift
const DEAD = 0.12; // of a gamepad's stick
const STOP_BUTTON = 1; // B, or the circle

const clamp = (value) => Math.max(-1, Math.min(1, value));
const isText = (element) => element?.closest?.("input:not([type=checkbox]), textarea, select");

export class Input {
  /** `steer(forward, left, by)` is called while something is held, and once when it is let go. */
  constructor(stick, { steer, stop }) {
    this.keys = new Set();
    this.fine = false;
    this.drag = null;
    this.buttons = false;
    this.moving = 0;
    this.off = false; // while it is, nothing drives: keys are the scene's
    this.stick = stick;
    this.steer = steer;
    this.stop = stop;
    this.listen(window);
    this.listenToStick();
    window.addEventListener("blur", () => setTimeout(() => document.hasFocus() || this.release()));
    document.addEventListener("visibilitychange", () => document.hidden && this.release());
    setInterval(() => this.read(), PERIOD);
  }

  /** Let everything go. */
  release() {
    this.keys.clear();
    this.drag = null;
    this.read();
  }

  /** Hear the keys of a window, also of one in a frame. */
  listen(target) {
    target.addEventListener("keydown", (e) => this.key(e, true), true);
    target.addEventListener("keyup", (e) => this.key(e, false), true);
    if (target !== window) {
      target.addEventListener("blur", () =>
        setTimeout(() => document.hasFocus() || this.release()));
    }
  }

  key(event, down) {
    this.fine = event.shiftKey;
    if (!down) this.keys.delete(event.code);
    if (this.off || isText(event.target) || event.ctrlKey || event.altKey || event.metaKey) return;
    const stops = event.code === "Space";
    if (!stops && !(event.code in KEYS)) return;
    // neither scrolls the page, nor presses a button, nor moves the scene's camera
    event.preventDefault();
    event.stopImmediatePropagation();
    if (stops) {
      if (down && !event.repeat) this.halt("space bar");
    } else if (down) {
      this.keys.add(event.code);
      if (!event.repeat) this.read();
    } else {
      this.read();
    }
  }

  halt(by) {
    this.stop(by);
    this.release();
  }

  listenToStick() {
    const place = (event) => {
      const box = this.stick.getBoundingClientRect();
      const reach = box.width / 2 - 21;
      const x = (event.clientX - box.left - box.width / 2) / reach;
      const y = (event.clientY - box.top - box.height / 2) / reach;
      const far = Math.max(1, Math.hypot(x, y));
      this.drag = [-y / far, -x / far];
      this.read();
    };
    this.stick.addEventListener("pointerdown", (event) => {
      if (this.drag) return; // a second finger
      this.pointer = event.pointerId;
      this.stick.setPointerCapture(event.pointerId);
      place(event);
    });
    const holds = (event) => this.drag && event.pointerId === this.pointer;
    this.stick.addEventListener("pointermove", (event) => holds(event) && place(event));
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
      this.stick.addEventListener(end, (event) => {
        if (!holds(event)) return;
        this.drag = null;
        this.read();
      });
    }
  }

  gamepad() {
    for (const pad of navigator.getGamepads?.() ?? []) {
      if (!pad?.connected) continue;
      const pressed = Boolean(pad.buttons[STOP_BUTTON]?.pressed);
      const begins = pressed && !this.buttons;
      // noted first: to halt is to read the gamepad again
      this.buttons = pressed;
      if (begins) this.halt("gamepad");
      const [x, y] = [pad.axes[0] ?? 0, pad.axes[1] ?? 0];
      if (Math.hypot(x, y) > DEAD) return [clamp(-y), clamp(-x)];
    }
    return null;
  }

  /** Where the stick is held now, and by what. */
  held() {
    if (this.off) return [0, 0, ""];
    if (this.drag) return [...this.drag, "stick"];
    const pad = this.gamepad();
    if (pad) return [...pad, "gamepad"];
    let [forward, left] = [0, 0];
    for (const code of this.keys) {
      forward += KEYS[code][0];
      left += KEYS[code][1];
    }
    return [clamp(forward), clamp(left), this.keys.size ? "keyboard" : ""];
  }

  read() {
    let [forward, left, by] = this.held();
    if (this.fine) [forward, left] = [forward * FINE, left * FINE];
    const still = forward === 0 && left === 0;
    // a released stick is said a few times, then it is silent
    if (still && this.moving === 0) return;
    this.moving = still ? this.moving - 1 : 3;
    this.steer(forward, left, by);
  }
}
