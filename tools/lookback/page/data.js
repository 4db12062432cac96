// The numbers of the page. Both kinds of data answer the same questions about a view, which is
// {layer, head, temperature, causal}: row(i), column(j), weight(i, j), entropy(i), and the share of
// the rows' weight that goes to the keys of a rectangle.

const meta = JSON.parse(document.getElementById("meta").textContent);
const nRows = meta.rowWords.length;
const nKeys = meta.keyWords.length;
const isSelf = nRows === nKeys && meta.rowWords.every((word, i) => word === meta.keyWords[i]);

function bytesOf(id) {
  const binary = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

function heaviestFirst(links) {
  return links.filter((link) => link.weight > 0).sort((a, b) => b.weight - a.weight || a.place - b.place);
}

// All scores are here, so weights are computed, as the engine does: s - m before it is divided by
// the temperature; a sink takes weight and is not divided by it.
class WholeData {
  constructor() {
    const buffer = bytesOf("scores").buffer;
    this.scores = meta.scoreBytes === 8 ? new Float64Array(buffer) : new Float32Array(buffer);
    this.key = "";
  }

  sees(view, i, j) {
    return !view.causal || j <= i + meta.offset || j < meta.prefix;
  }

  softmax(view, i, out) {
    const place = view.layer * meta.heads + view.head;
    const start = (place * nRows + i) * nKeys;
    const sink = meta.sinks && meta.sinks[place] !== null ? meta.sinks[place] : -Infinity;
    const T = view.temperature;
    let m = sink * T;
    for (let j = 0; j < nKeys; ++j) {
      if (this.sees(view, i, j)) m = Math.max(m, this.scores[start + j]);
    }
    let sum = sink === -Infinity ? 0 : Math.exp(sink - m / T);
    for (let j = 0; j < nKeys; ++j) {
      const seen = m !== -Infinity && this.sees(view, i, j);
      out[j] = seen ? Math.exp((this.scores[start + j] - m) / T) : 0;
      sum += out[j];
    }
    if (sum > 0) for (let j = 0; j < nKeys; ++j) out[j] /= sum;
  }

  compute(view) {
    const weights = new Float64Array(nRows * nKeys);
    for (let i = 0; i < nRows; ++i) this.softmax(view, i, weights.subarray(i * nKeys, (i + 1) * nKeys));
    return weights;
  }

  matrix(view) {
    const key = [view.layer, view.head, view.temperature, view.causal].join();
    if (key !== this.key) {
      this.weights = this.compute(view);
      this.key = key;
    }
    return this.weights;
  }

  weight(view, i, j) { return this.matrix(view)[i * nKeys + j]; }

  row(view, i) {
    const links = [];
    for (let j = 0; j < nKeys; ++j) links.push({place: j, weight: this.weight(view, i, j)});
    return heaviestFirst(links);
  }

  column(view, j) {
    const links = [];
    for (let i = 0; i < nRows; ++i) links.push({place: i, weight: this.weight(view, i, j)});
    return heaviestFirst(links);
  }

  entropy(view, i) {
    let sum = 0;
    for (let j = 0; j < nKeys; ++j) {
      const w = this.weight(view, i, j);
      if (w > 0) sum -= w * Math.log(w);
    }
    return sum;
  }

  // For thumbnails, without disturbing what is remembered.
  thumbnail(view, side) {
    const weights = this.compute(view);
    const share = (r0, r1, c0, c1) => shareOf(weights, nKeys, r0, r1, c0, c1);
    return pooled(nRows, nKeys, Math.min(side, nRows), Math.min(side, nKeys), share);
  }

  share(view, r0, r1, c0, c1) { return shareOf(this.matrix(view), nKeys, r0, r1, c0, c1); }
  get finest() { return [nRows, nKeys]; }
}

function shareOf(weights, stride, r0, r1, c0, c1) {
  let sum = 0;
  for (let i = r0; i < r1; ++i) for (let j = c0; j < c1; ++j) sum += weights[i * stride + j];
  return sum / (r1 - r0);
}

// Cells r of R cover rows floor(r n / R) to floor((r + 1) n / R), and columns likewise.
function pooled(n, m, rows, columns, share) {
  const cells = {rows, columns, shares: new Float64Array(rows * columns)};
  for (let r = 0; r < rows; ++r) {
    for (let c = 0; c < columns; ++c) {
      cells.shares[r * columns + c] = share(Math.floor(r * n / rows), Math.floor((r + 1) * n / rows),
        Math.floor(c * m / columns), Math.floor((c + 1) * m / columns));
    }
  }
  return cells;
}

// The heaviest links of every row and a map in cells, for each head, with and without causality.
class PooledData {
  constructor() {
    this.forms = {};
    [this.R, this.C] = meta.cells;
  }

  form(view) {
    const name = view.causal ? "1" : "0";
    if (!this.forms[name]) {
      const Keys = nKeys > 65535 ? Uint32Array : Uint16Array;
      this.forms[name] = {
        cells: bytesOf("cells" + name),
        keys: new Keys(bytesOf("keys" + name).buffer),
        weights: new Uint16Array(bytesOf("weights" + name).buffer),
        entropies: new Float32Array(bytesOf("entropies" + name).buffer),
        none: nKeys > 65535 ? 4294967295 : 65535,
      };
    }
    return this.forms[name];
  }

  place(view) { return view.layer * meta.heads + view.head; }

  row(view, i) {
    const form = this.form(view);
    const start = (this.place(view) * nRows + i) * meta.top;
    const links = [];
    for (let rank = 0; rank < meta.top; ++rank) {
      if (form.keys[start + rank] === form.none) continue;
      links.push({place: form.keys[start + rank], weight: form.weights[start + rank] / 65535});
    }
    return heaviestFirst(links);
  }

  // Of the rows that have this key among their heaviest.
  column(view, j) {
    const links = [];
    for (let i = 0; i < nRows; ++i) {
      const weight = this.weight(view, i, j);
      if (weight > 0) links.push({place: i, weight});
    }
    return heaviestFirst(links);
  }

  weight(view, i, j) {
    const form = this.form(view);
    const start = (this.place(view) * nRows + i) * meta.top;
    for (let rank = 0; rank < meta.top; ++rank) {
      if (form.keys[start + rank] === j) return form.weights[start + rank] / 65535;
    }
    return 0;
  }

  entropy(view, i) { return this.form(view).entropies[this.place(view) * nRows + i]; }

  cell(view, r, c) {
    const level = this.form(view).cells[(this.place(view) * this.R + r) * this.C + c] / 255;
    return level * level;
  }

  thumbnail(view, side) {
    const share = (r0, r1, c0, c1) => {
      let sum = 0;
      for (let r = r0; r < r1; ++r) for (let c = c0; c < c1; ++c) sum += this.cell(view, r, c);
      return sum / (r1 - r0);
    };
    return pooled(this.R, this.C, Math.min(side, this.R), Math.min(side, this.C), share);
  }

  get finest() { return [this.R, this.C]; }
}

const data = document.getElementById("scores") ? new WholeData() : new PooledData();
const isWhole = data instanceof WholeData;
