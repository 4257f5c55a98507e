/* Browsers start no worker for a page that is opened as a file. There the search runs in a hidden
   frame instead, behind the same interface. With a server the browser's own workers serve. */
"use strict";

class IFrameWorker extends EventTarget {
  constructor(address) {
    super();
    this.waiting = [];
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    const start = () => {
      document.body.appendChild(this.frame);
      const inner = this.frame.contentWindow;
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inner.document.createElement("script");
      script.src = address;
      script.onload = () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      };
      script.onerror = () => this.dispatchEvent(new Event("error"));
      inner.document.body.appendChild(script);
    };
    if (document.body) start();
    else document.addEventListener("DOMContentLoaded", start);
  }

  postMessage(data) {
    if (this.waiting) this.waiting.push(data);
    else {
      const inner = this.frame.contentWindow;
      inner.dispatchEvent(new inner.MessageEvent("message", { data }));
    }
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") {
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}
