// The matrix of a short text as a table: rows look at columns.

class Matrix {
  constructor(container, actions) {
    this.cells = [];
    this.headers = meta.keyWords.map((word, j) => element("th", {scope: "col", "data-key": j}, element("span", {}, word)));
    this.labels = meta.rowWords.map((word, i) => element("th", {scope: "row", "data-row": i}, word));
    const body = element("tbody");
    this.labels.forEach((label, i) => {
      const row = element("tr", {role: "row"}, label);
      for (let j = 0; j < nKeys; ++j) {
        const cell = element("td", {role: "gridcell", "data-row": i, "data-key": j});
        actions.listen(cell, {row: i, key: j, cell: true});
        this.cells.push(cell);
        row.append(cell);
      }
      body.append(row);
    });
    this.table = element("table", {class: "matrix", role: "grid", "aria-label": "Weights: rows look at columns", style: "--n:" + nKeys},
      element("thead", {}, element("tr", {role: "row"}, element("td", {role: "presentation"}), ...this.headers)), body);
    this.labels.forEach((label, i) => actions.listen(label, isSelf ? {row: i, key: i} : {row: i}));
    this.headers.forEach((header, j) => actions.listen(header, isSelf ? {row: j, key: j} : {key: j}));
    roving(body, this.cells, (key, at) => ({ArrowRight: (at + 1) % nKeys ? at + 1 : undefined,
      ArrowLeft: at % nKeys ? at - 1 : undefined, ArrowDown: at + nKeys, ArrowUp: at - nKeys})[key]);
    container.append(element("h3", {class: "part-title"}, "The matrix, in percent: rows look at columns"),
      element("div", {class: "matrix-frame"}, this.table));
  }

  paint(view) {
    this.cells.forEach((cell, place) => {
      const i = Math.floor(place / nKeys);
      const j = place % nKeys;
      const weight = data.weight(view, i, j);
      cell.style.background = shadeText(weight);
      cell.style.color = inkOn(weight);
      cell.textContent = weight >= 0.005 ? (100 * weight).toFixed(0) : "";
      cell.dataset.weight = weight;
      cell.setAttribute("aria-label", nameOf(meta.rowWords, i) + " looks at " + nameOf(meta.keyWords, j) + ": " + percent(weight));
    });
  }

  show(view, target) {
    const key = [view.layer, view.head, view.temperature, view.causal, darkScheme.matches].join();
    if (key !== this.painted) this.paint(view);
    this.painted = key;
    for (const cell of [...this.cells, ...this.labels, ...this.headers]) {
      cell.classList.toggle("row-on", cell.dataset.row !== undefined && Number(cell.dataset.row) === target.row);
      cell.classList.toggle("key-on", cell.dataset.key !== undefined && Number(cell.dataset.key) === target.key);
    }
  }
}
