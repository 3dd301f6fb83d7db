// The websocket to the desk: messages by name, and connecting again when it is lost.

const PAUSES = [300, 600, 1200, 2400]; // before trying again [ms]

export class Link {
  constructor() {
    this.handlers = {};
    this.tries = 0;
    this.lostAt = performance.now();
  }

  /** Call `handler` with every message of a name; "open" and "close" tell of the connection. */
  on(name, handler) {
    this.handlers[name] = handler;
  }

  get open() {
    return this.socket !== undefined && this.socket.readyState === WebSocket.OPEN;
  }

  /** Send a message; whether it could be sent. */
  send(name, fields = {}) {
    if (!this.open) return false;
    this.socket.send(JSON.stringify({ is: name, ...fields }));
    return true;
  }

  connect() {
    const address = new URL("ws", location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    address.search = "";
    this.socket = new WebSocket(address);
    this.socket.onopen = () => {
      this.tries = 0;
      this.tell("open");
    };
    this.socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      this.tell(message.is, message);
    };
    this.socket.onclose = (event) => {
      if (this.lostAt === null) this.lostAt = performance.now();
      this.tell("close", event);
      const pause = PAUSES[Math.min(this.tries++, PAUSES.length - 1)];
      setTimeout(() => this.connect(), pause);
    };
  }

  tell(name, message) {
    if (name === "open") this.lostAt = null;
    this.handlers[name]?.(message);
  }
}
