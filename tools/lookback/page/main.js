// What is chosen, and how the parts follow it.

const started = performance.now();
const byId = (id) => document.getElementById(id);
const longestMatrix = 40;  // more words than that are a long text
const isShort = isWhole && Math.max(nRows, nKeys) <= longestMatrix;
const hasCausal = meta.offset !== undefined;

const initial = {layer: meta.shown[0], head: meta.shown[1], temperature: meta.temperature, causal: meta.causal};
let view = {...initial};
let pinned = {};
let hovered;

// A word that says something: the row of the heaviest link between two different words, other than
// marks like [CLS] and the smallest words.
function tellingTarget() {
  const tells = (word) => !meta.named || /^\p{L}{3,}$/u.test(word) && word !== "the" && word !== "and";
  let best = {weight: 0, row: 0};
  for (let i = 0; i < nRows; ++i) {
    for (const {place, weight} of data.row(view, i)) {
      const telling = tells(meta.rowWords[i]) && tells(meta.keyWords[place]) && meta.rowWords[i] !== meta.keyWords[place];
      if (telling && weight > best.weight) best = {weight, row: i};
    }
  }
  return isSelf ? {row: best.row, key: best.row} : {row: best.row};
}

const actions = {
  hover(target) { hovered = target; follow(); },
  leave() { hovered = undefined; follow(); },
  pin(target) { pinned = target; hovered = undefined; follow(); },
  listen(made, target) {
    made.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") actions.hover(target); });
    made.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") actions.leave(); });
    made.addEventListener("focus", () => actions.hover(target));
    made.addEventListener("blur", () => actions.leave());
    made.addEventListener("click", () => actions.pin(target));
    made.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        actions.pin(target);
      }
    });
  },
};

const parts = isShort ? [new WordColumns(byId("words"), actions), new Matrix(byId("map"), actions)]
  : [new WordFlow(byId("words"), actions), new ZoomMap(byId("map"), actions)];

function listed(links, words) {
  return links.slice(0, 5).filter(({weight}) => weight >= 0.005)
    .map(({place, weight}) => nameOf(words, place) + " " + percent(weight)).join(", ");
}

function sentenceAbout(target) {
  const {row, key} = target;
  if (target.cell) {
    const weight = data.weight(view, row, key);
    const known = isWhole || weight > 0;
    const amount = known ? percent(weight) : "less than its " + meta.top + " heaviest";
    return `\u201c${nameOf(meta.rowWords, row)}\u201d looks at \u201c${nameOf(meta.keyWords, key)}\u201d: ${amount}.`;
  }
  let text = "";
  if (row !== undefined) {
    const links = listed(data.row(view, row), meta.keyWords);
    text += `\u201c${nameOf(meta.rowWords, row)}\u201d looks at ${links || "nothing in particular"} ` +
      `(entropy ${data.entropy(view, row).toFixed(2)} nats). `;
  }
  if (key !== undefined) {
    const links = listed(data.column(view, key), meta.rowWords);
    text += row === undefined ? `\u201c${nameOf(meta.keyWords, key)}\u201d is looked at by ` : "It is looked at by ";
    text += (links || "nobody in particular") + ".";
  }
  return text || "Choose a word to see where it looks.";
}

function follow() {
  const target = hovered || pinned;
  for (const part of parts) part.show(view, target);
  byId("said").textContent = sentenceAbout(target);
}

const thumbs = [];

function nameOfHead(layer, head) { return `layer ${meta.firstLayer + layer}, head ${meta.firstHead + head}`; }

function makeThumbs() {
  const side = Math.max(nRows, nKeys) <= longestMatrix ? 44 : 56;
  const heads = byId("heads");
  // As many as there are should fit on a phone, down to what a finger can still hit.
  heads.style.setProperty("--thumb", `clamp(18px, calc((100vw - 3.4rem) / ${meta.heads} - 9px), ${side}px)`);
  heads.style.gridTemplateColumns = `auto repeat(${meta.heads}, auto)`;
  heads.append(element("span", {class: "axis corner", "aria-hidden": "true"}, "layer \\ head"));
  for (let head = 0; head < meta.heads; ++head) {
    heads.append(element("span", {class: "axis", "aria-hidden": "true"}, String(meta.firstHead + head)));
  }
  for (let layer = 0; layer < meta.layers; ++layer) {
    heads.append(element("span", {class: "axis", "aria-hidden": "true"}, String(meta.firstLayer + layer)));
    for (let head = 0; head < meta.heads; ++head) {
      const button = element("button", {type: "button", role: "radio", title: nameOfHead(layer, head),
        "aria-label": nameOfHead(layer, head)}, element("canvas"));
      button.addEventListener("click", () => choose({layer, head}));
      thumbs.push(button);
      heads.append(button);
    }
  }
  const go = roving(heads, thumbs, (key, at) => ({ArrowRight: at + 1, ArrowLeft: at - 1,
    ArrowDown: at + meta.heads, ArrowUp: at - meta.heads})[key]);
  heads.addEventListener("keydown", (event) => {
    if (!event.key.startsWith("Arrow")) return;
    const at = thumbs.indexOf(document.activeElement);
    if (at >= 0) choose({layer: Math.floor(at / meta.heads), head: at % meta.heads});
  });
  go(view.layer * meta.heads + view.head, false);
}

function paintThumbs() {
  thumbs.forEach((button, at) => {
    const one = {...view, layer: Math.floor(at / meta.heads), head: at % meta.heads};
    paintCells(button.firstChild, data.thumbnail(one, 48));
  });
}

function choose(change) {
  const repaint = change.temperature !== undefined || change.causal !== undefined;
  Object.assign(view, change);
  thumbs.forEach((button, at) => {
    button.setAttribute("aria-checked", at === view.layer * meta.heads + view.head);
  });
  const name = nameOfHead(view.layer, view.head);
  byId("head-title").textContent = name[0].toUpperCase() + name.slice(1);
  byId("layer").value = view.layer;
  byId("head").value = view.head;
  byId("temperature").value = Math.log10(view.temperature);
  byId("temperature").setAttribute("aria-valuetext", view.temperature.toFixed(2));
  byId("temperature-now").textContent = view.temperature.toFixed(2);
  byId("causal").checked = view.causal;
  if (repaint) paintThumbs();
  follow();
}

function makeControls() {
  for (let layer = 0; layer < meta.layers; ++layer) {
    byId("layer").append(element("option", {value: layer}, String(meta.firstLayer + layer)));
  }
  for (let head = 0; head < meta.heads; ++head) {
    byId("head").append(element("option", {value: head}, String(meta.firstHead + head)));
  }
  byId("layer").addEventListener("change", (event) => choose({layer: Number(event.target.value)}));
  byId("head").addEventListener("change", (event) => choose({head: Number(event.target.value)}));
  byId("temperature").addEventListener("input", (event) => choose({temperature: 10 ** Number(event.target.value)}));
  byId("causal").addEventListener("change", (event) => choose({causal: event.target.checked}));
  byId("reset").addEventListener("click", () => choose({temperature: initial.temperature, causal: initial.causal}));
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("temperature").disabled = !isWhole;
  byId("causal").disabled = !hasCausal;
  const notes = [];
  if (!isWhole) {
    notes.push(`A text of this length comes with its ${meta.top} heaviest links for each row and a map of ` +
      `${meta.cells.join(" x ")} cells for each head, at the temperature ${meta.temperature}.`);
  }
  if (!hasCausal) notes.push("There are more keys than rows or fewer, so nothing says what looking back is.");
  byId("note").textContent = notes.join(" ");
}

function start() {
  byId("text").textContent = meta.text;
  const places = nRows === nKeys ? `${nRows} words` : `${nRows} rows and ${nKeys} keys`;
  byId("lead").textContent = `Attention in ${meta.layers} x ${meta.heads} heads over ${places}: each word shares out ` +
    "100 % of its attention among the words. Hover or tap a word to see where it looks, and who looks at it.";
  document.querySelectorAll(".if-map").forEach((one) => { one.hidden = isShort; });
  makeControls();
  makeThumbs();
  pinned = tellingTarget();
  byId("ramp-end").textContent = "100 %";
  const repaintAll = () => { paintLegend(); paintThumbs(); choose({}); };
  repaintAll();
  parts[0].reveal(pinned);
  darkScheme.addEventListener("change", repaintAll);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") actions.pin({});
  });
  document.body.dataset.ready = (performance.now() - started).toFixed(0);
}

start();
