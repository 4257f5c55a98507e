"use strict";
// A matrix on a canvas that is walked with the arrow keys: rows are the truth, columns the answers.
// One element takes the focus; its label names the cell that the cursor is on.
const ExploreGrid = (() => {
  const LARGEST_CELL = 84, HIGHEST = 470, LEAST_FOR_TEXT = 26, LEAST_FOR_NAMES = 11;

  // options: title; names; columns(): names of the columns; cell(i, j): what to draw there, {text,
  // small, shade (0 to 1, or null on the diagonal), mark (-1, 0, 1), edge}; sentence(i, j): what
  // the cell holds; colours(): {ink, quiet, paper, line, diagonal, from, to, more, fewer, pick}; chosen(i, j,
  // how); typed(key) and dragged(factor | null) for cells that can be edited; seen(i, j): the pointer
  // is over a cell.
  function create(host, options) {
    const canvas = document.createElement("canvas");
    host.append(canvas);
    host.tabIndex = 0;
    host.setAttribute("role", "application");
    host.setAttribute("aria-roledescription", "matrix");
    const pen = canvas.getContext("2d");
    const state = { i: 0, j: Math.min(1, options.columns().length - 1), cell: 20, left: 0, top: 0, flat: false };

    function shortened(text, width) {
      if (pen.measureText(text).width <= width) return text;
      const letters = Array.from(text);
      while (letters.length > 1 && pen.measureText(`${letters.join("")}…`).width > width) letters.pop();
      return `${letters.join("")}…`;
    }

    function layout() {
      const names = options.names, columns = options.columns();
      const width = host.clientWidth;
      pen.font = "12px system-ui, sans-serif";
      const widest = Math.max(...[...names, ...columns].map((name) => pen.measureText(name).width));
      const gutter = Math.min(Math.ceil(widest) + 10, Math.max(56, Math.round(width * 0.24)), 150);
      let cell = Math.floor((width - gutter - 2) / columns.length);
      const named = cell >= LEAST_FOR_NAMES;
      state.left = named ? gutter : 2;
      cell = (width - state.left - 2) / columns.length;
      state.cell = Math.min(LARGEST_CELL, cell >= 4 ? Math.floor(cell) : cell);
      // What can be read is not made so large that the controls are out of sight.
      if (state.cell > 44) state.cell = Math.max(44, Math.min(state.cell, Math.floor(HIGHEST / names.length)));
      state.flat = columns.every((name) => pen.measureText(name).width <= state.cell - 4);
      state.top = !named ? 2 : state.flat ? 22 : Math.min(gutter, 96);
      const wide = state.left + state.cell * columns.length + 2;
      const high = state.top + state.cell * names.length + 2;
      const scale = window.devicePixelRatio || 1;
      canvas.width = Math.ceil(wide * scale);
      canvas.height = Math.ceil(high * scale);
      canvas.style.width = `${wide}px`;
      canvas.style.height = `${high}px`;
      pen.setTransform(scale, 0, 0, scale, 0, 0);
    }

    function mixed(from, to, share) {
      return `rgb(${from.map((part, at) => Math.round(part + share * (to[at] - part))).join(" ")})`;
    }

    function draw() {
      const { cell, left, top } = state;
      const names = options.names, columns = options.columns(), look = options.colours();
      pen.fillStyle = look.paper;
      pen.fillRect(0, 0, canvas.width, canvas.height);
      const gap = cell >= 8 ? 1 : 0;
      for (let i = 0; i < names.length; i++) {
        for (let j = 0; j < columns.length; j++) {
          const what = options.cell(i, j);
          const x = left + j * cell, y = top + i * cell, size = cell - gap;
          pen.fillStyle = what.shade === null ? look.diagonal : mixed(look.from, look.to, what.shade);
          pen.fillRect(x, y, size, size);
          if (what.edge && cell >= 8) {
            pen.strokeStyle = look.ink;
            pen.lineWidth = 1;
            pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
          }
          if (what.mark) mark(x, y, size, what, look);
          if (cell >= LEAST_FOR_TEXT && what.text) words(what, x, y, size, look);
        }
      }
      if (left > 2) labels(names, columns, look);
      cursor(look);
    }

    // More: a triangle that points up, in the upper right corner; fewer: down, in the lower right.
    function mark(x, y, size, what, look) {
      const sign = what.mark;
      const edge = Math.max(2, Math.min(10, size * 0.34));
      pen.fillStyle = what.shade > 0.55 ? look.over : sign > 0 ? look.more : look.fewer;
      pen.beginPath();
      if (sign > 0) {
        pen.moveTo(x + size, y + edge);
        pen.lineTo(x + size - edge, y + edge);
        pen.lineTo(x + size - edge / 2, y);
      } else {
        pen.moveTo(x + size, y + size - edge);
        pen.lineTo(x + size - edge, y + size - edge);
        pen.lineTo(x + size - edge / 2, y + size);
      }
      pen.fill();
    }

    function words(what, x, y, size, look) {
      pen.fillStyle = what.shade !== null && what.shade > 0.55 ? look.over : look.ink;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.font = `${size >= 44 ? 14 : size >= 34 ? 12 : 10}px system-ui, sans-serif`;
      const twoLines = what.small && size >= 44;
      pen.fillText(shortened(what.text, size - 2), x + size / 2, y + size / 2 - (twoLines ? 7 : 0));
      if (twoLines) {
        pen.font = "11px system-ui, sans-serif";
        pen.fillText(what.small, x + size / 2, y + size / 2 + 10);
      }
    }

    function labels(names, columns, look) {
      const { cell, left, top } = state;
      pen.fillStyle = look.ink;
      pen.font = `${cell >= 16 ? 12 : 10}px system-ui, sans-serif`;
      pen.textBaseline = "middle";
      pen.textAlign = "right";
      names.forEach((name, i) =>
        pen.fillText(shortened(name, left - 8), left - 5, top + (i + 0.5) * cell));
      columns.forEach((name, j) => {
        pen.save();
        pen.translate(left + (j + 0.5) * cell, top - 5);
        if (state.flat) {
          pen.textAlign = "center";
          pen.textBaseline = "bottom";
          pen.fillText(name, 0, 0);
        } else {
          pen.rotate(-Math.PI / 2);
          pen.textAlign = "left";
          pen.fillText(shortened(name, top - 8), 0, 0);
        }
        pen.restore();
      });
    }

    function cursor(look) {
      const { cell, left, top, i, j } = state;
      const around = cell < 8 ? 3 : 0;
      pen.strokeStyle = look.pick;
      pen.lineWidth = 2.5;
      pen.strokeRect(left + j * cell - around, top + i * cell - around,
        cell + 2 * around - (cell >= 8 ? 1 : 0), cell + 2 * around - (cell >= 8 ? 1 : 0));
    }

    function describe() {
      host.setAttribute("aria-label", `${options.title}. ${options.sentence(state.i, state.j)}`);
    }

    function select(i, j) {
      state.i = Math.max(0, Math.min(options.names.length - 1, i));
      state.j = Math.max(0, Math.min(options.columns().length - 1, j));
      describe();
      draw();
    }

    function place(event) {
      const box = canvas.getBoundingClientRect();
      const j = Math.floor((event.clientX - box.left - state.left) / state.cell);
      const i = Math.floor((event.clientY - box.top - state.top) / state.cell);
      return i >= 0 && j >= 0 && i < options.names.length && j < options.columns().length
        ? { i, j } : null;
    }

    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    host.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const last = options.columns().length - 1;
      let target = null;
      if (steps[event.key]) target = [state.i + steps[event.key][0], state.j + steps[event.key][1]];
      else if (event.key === "Home") target = [state.i, 0];
      else if (event.key === "End") target = [state.i, last];
      else if (event.key === "PageUp") target = [0, state.j];
      else if (event.key === "PageDown") target = [options.names.length - 1, state.j];
      if (target) {
        event.preventDefault();
        select(...target);
        options.chosen(state.i, state.j);
      } else if (options.typed && /^[\d.]$|^Enter$|^[+-]$/.test(event.key)) {
        event.preventDefault();
        options.typed(event.key);
      }
    });
    host.addEventListener("focus", () => { describe(); options.chosen(state.i, state.j); });

    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      const found = place(event);
      if (!found) return;
      host.focus({ preventScroll: true });
      select(found.i, found.j);
      options.chosen(found.i, found.j);
      if (!options.dragged || event.pointerType === "touch") return;
      event.preventDefault();
      canvas.setPointerCapture(event.pointerId);
      held = { y: event.clientY, moved: false };
    });
    canvas.addEventListener("pointermove", (event) => {
      if (held) {
        const up = held.y - event.clientY;
        if (Math.abs(up) > 3) held.moved = true;
        if (held.moved) options.dragged(Math.exp(up * 0.02));
        return;
      }
      const found = place(event);
      if (found && options.seen) options.seen(found.i, found.j);
    });
    const drop = () => { if (held && held.moved) options.dragged(null); held = null; };
    canvas.addEventListener("pointerup", drop);
    canvas.addEventListener("pointercancel", drop);
    canvas.addEventListener("pointerleave", () => { if (options.left) options.left(); });

    function refresh() { layout(); describe(); draw(); }
    return { select, draw: () => { describe(); draw(); }, refresh, at: () => [state.i, state.j] };
  }

  return { create };
})();
