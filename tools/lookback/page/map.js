// The matrix of a long text: a canvas to zoom into. From afar it shows shares of weight in cells;
// where a pixel is finer than the cells that are known, the heaviest links of each row, exactly.

class ZoomMap {
  constructor(container, actions) {
    this.actions = actions;
    this.canvas = element("canvas", {tabindex: "0", role: "img"});
    this.frame = element("div", {class: "zoom"}, this.canvas);
    this.range = element("span", {class: "faint"});
    const button = (label, text, action) => {
      const made = element("button", {type: "button", "aria-label": label}, text);
      made.addEventListener("click", action);
      return made;
    };
    this.buttons = element("div", {class: "zoom-buttons"},
      button("Zoom in", "+", () => this.zoom(2)), button("Zoom out", "\u2212", () => this.zoom(0.5)),
      button("Show all", "All", () => this.reset()), this.range);
    container.append(element("h3", {class: "part-title"}, "The map: rows look at columns. Wheel or + to zoom, drag to move"),
      this.buttons, this.frame);
    this.window = {row: 0, key: 0, size: 1};  // upper left corner and side, as fractions of all
    this.listen();
    window.addEventListener("resize", () => this.draw());
  }

  listen() {
    const canvas = this.canvas;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 1.25 : 0.8, event);
    }, {passive: false});
    canvas.addEventListener("pointerdown", (event) => {
      this.drag = {x: event.clientX, y: event.clientY, ...this.window, moved: false};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => {
      if (this.drag && !this.drag.moved) this.actions.pin(this.targetAt(event));
      this.drag = undefined;
    });
    canvas.addEventListener("pointerleave", () => this.actions.leave());
    canvas.addEventListener("keydown", (event) => {
      const step = this.window.size / 8;
      const actions = {"+": () => this.zoom(2), "=": () => this.zoom(2), "-": () => this.zoom(0.5), "0": () => this.reset(),
        ArrowLeft: () => this.moveTo(this.window.row, this.window.key - step),
        ArrowRight: () => this.moveTo(this.window.row, this.window.key + step),
        ArrowUp: () => this.moveTo(this.window.row - step, this.window.key),
        ArrowDown: () => this.moveTo(this.window.row + step, this.window.key)};
      if (!actions[event.key]) return;
      event.preventDefault();
      actions[event.key]();
    });
  }

  move(event) {
    if (!this.drag) return this.actions.hover(this.targetAt(event));
    const side = this.canvas.getBoundingClientRect().width - this.margin;
    const dx = (event.clientX - this.drag.x) / side;
    const dy = (event.clientY - this.drag.y) / side;
    if (Math.abs(dx) + Math.abs(dy) < 0.01 && !this.drag.moved) return;
    this.drag.moved = true;
    this.moveTo(this.drag.row - dy * this.window.size, this.drag.key - dx * this.window.size);
  }

  moveTo(row, key) {
    const within = (place) => Math.min(Math.max(place, 0), 1 - this.window.size);
    this.window.row = within(row);
    this.window.key = within(key);
    this.draw();
  }

  // Keeps what is under the pointer, or the middle, where it is.
  zoom(factor, event) {
    const box = this.canvas.getBoundingClientRect();
    const side = box.width - this.margin;
    const fx = event ? (event.clientX - box.left - this.margin) / side : 0.5;
    const fy = event ? (event.clientY - box.top - this.margin) / side : 0.5;
    const smallest = Math.min(1, 12 / Math.max(nRows, nKeys));
    const size = Math.min(Math.max(this.window.size / factor, smallest), 1);
    const gained = this.window.size - size;
    this.window.size = size;
    this.moveTo(this.window.row + fy * gained, this.window.key + fx * gained);
  }

  reset() {
    this.window = {row: 0, key: 0, size: 1};
    this.draw();
  }

  targetAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const side = box.width - this.margin;
    const at = (offset, start, n) => Math.min(Math.max(Math.floor((start + offset / side * this.window.size) * n), 0), n - 1);
    return {row: at(event.clientY - box.top - this.margin, this.window.row, nRows),
      key: at(event.clientX - box.left - this.margin, this.window.key, nKeys), cell: true};
  }

  show(view, target) {
    this.view = view;
    this.target = target;
    this.draw();
  }

  // The share at a point: rows and keys [r0, r1) x [c0, c1) are one pixel or more.
  painter() {
    if (isWhole) return (r0, r1, c0, c1) => data.share(this.view, r0, r1, c0, c1);
    return (r0, r1, c0, c1) => {
      const exact = r1 - r0 === 1 && c1 - c0 === 1 ? data.weight(this.view, r0, c0) : 0;
      if (exact > 0) return exact;
      // Below a cell its share is spread evenly over its keys.
      const r = Math.min(Math.floor(r0 * data.R / nRows), data.R - 1);
      const c = Math.min(Math.floor(c0 * data.C / nKeys), data.C - 1);
      const part = (c1 - c0) / Math.max(1, nKeys / data.C);
      return data.cell(this.view, r, c) * Math.min(1, part);
    };
  }

  draw() {
    if (!this.view) return;
    const width = Math.max(this.frame.clientWidth, 240);
    const scale = window.devicePixelRatio || 1;
    this.margin = width < 480 ? 64 : 96;
    this.canvas.width = width * scale;
    this.canvas.height = width * scale;
    const context = this.canvas.getContext("2d");
    context.scale(scale, scale);
    const side = width - this.margin;
    this.first = {row: Math.floor(this.window.row * nRows), key: Math.floor(this.window.key * nKeys)};
    this.end = {row: Math.min(nRows, Math.ceil((this.window.row + this.window.size) * nRows - 1e-9)),
      key: Math.min(nKeys, Math.ceil((this.window.key + this.window.size) * nKeys - 1e-9))};
    this.drawCells(context, side);
    this.drawLabels(context, side);
    this.drawTarget(context, side);
    this.say();
  }

  drawCells(context, side) {
    const rows = this.end.row - this.first.row;
    const keys = this.end.key - this.first.key;
    const most = isWhole ? 256 : Infinity;
    const [R, C] = isWhole ? [rows, keys] : data.finest.map((cells, axis) => Math.ceil(cells * this.window.size) || axis);
    // Single places once they are big enough to see, else the cells that are known.
    const single = side / Math.max(rows, keys) >= 3;
    const shape = single ? [rows, keys] : [Math.min(rows, R, most), Math.min(keys, C, most)];
    const share = this.painter();
    const cells = pooled(rows, keys, shape[0], shape[1], (r0, r1, c0, c1) =>
      share(this.first.row + r0, this.first.row + r1, this.first.key + c0, this.first.key + c1));
    const small = document.createElement("canvas");
    // The heaviest cell in view gets the last shade; the legend says what that is.
    const peak = cells.shares.reduce((most, share) => Math.max(most, share || 0), 0) || 1;
    paintCells(small, cells, peak);
    document.getElementById("ramp-end").textContent = percent(peak);
    context.imageSmoothingEnabled = false;
    const box = this.box({row: this.first.row, key: this.first.key}, side);
    const last = this.box({row: this.end.row, key: this.end.key}, side);
    context.save();
    context.beginPath();
    context.rect(this.margin, this.margin, side, side);
    context.clip();
    context.drawImage(small, box.x, box.y, last.x - box.x, last.y - box.y);
    context.restore();
  }

  box({row, key}, side) {
    return {x: this.margin + (key / nKeys - this.window.key) / this.window.size * side,
      y: this.margin + (row / nRows - this.window.row) / this.window.size * side};
  }

  drawLabels(context, side) {
    const style = getComputedStyle(document.body);
    context.fillStyle = style.color;
    context.font = "12px " + style.fontFamily;
    context.textBaseline = "middle";
    const label = (words, place, single) => (meta.named ? words[place].slice(0, 10) : "") + (single && meta.named ? "" : " " + place);
    for (const axis of ["row", "key"]) {
      const words = axis === "row" ? meta.rowWords : meta.keyWords;
      const step = Math.max(1, Math.ceil((this.end[axis] - this.first[axis]) / (side / 15)));
      for (let place = Math.ceil(this.first[axis] / step) * step; place < this.end[axis]; place += step) {
        const point = this.box({row: place + 0.5, key: place + 0.5}, side);
        context.save();
        if (axis === "row") context.translate(this.margin - 6, point.y);
        else context.translate(point.x, this.margin - 6);
        if (axis === "key") context.rotate(-Math.PI / 2);
        context.textAlign = axis === "row" ? "right" : "left";
        const along = axis === "row" ? point.y : point.x;
        if (along >= this.margin && along <= this.margin + side - 4) context.fillText(label(words, place, step === 1), 0, 0);
        context.restore();
      }
    }
  }

  drawTarget(context, side) {
    const style = getComputedStyle(document.documentElement);
    const lines = [["row", "--look"], ["key", "--seen"]];
    for (const [axis, colour] of lines) {
      if (this.target[axis] === undefined) continue;
      const from = this.box({row: this.target[axis], key: this.target[axis]}, side);
      const to = this.box({row: this.target[axis] + 1, key: this.target[axis] + 1}, side);
      const [start, end] = axis === "row" ? [from.y, to.y] : [from.x, to.x];
      if (end < this.margin || start > this.margin + side) continue;
      context.strokeStyle = style.getPropertyValue(colour);
      const thick = Math.max(end - start, 2);
      if (axis === "row") context.strokeRect(this.margin, start, side, thick);
      else context.strokeRect(start, this.margin, thick, side);
    }
  }

  say() {
    const {first, end} = this;
    this.range.textContent = `rows ${first.row} to ${end.row - 1}, keys ${first.key} to ${end.key - 1}`;
    this.canvas.setAttribute("aria-label", `Map of the weights, ${this.range.textContent}. Use the words to hear the links.`);
  }
}
