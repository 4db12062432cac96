// Colours for shares of weight, on a square-root scale, for most weights are small. Lightness is
// monotone, so the maps also read in grey and for the colour-blind.

const ramps = {
  light: [[250, 250, 248], [254, 224, 166], [252, 177, 104], [238, 110, 82], [190, 50, 110], [112, 24, 122], [36, 12, 64]],
  dark: [[30, 30, 37], [40, 22, 84], [92, 26, 116], [166, 44, 112], [226, 88, 84], [250, 160, 96], [255, 238, 190]],
};
const darkScheme = window.matchMedia("(prefers-color-scheme: dark)");

function shade(share) {
  const ramp = darkScheme.matches ? ramps.dark : ramps.light;
  const level = Math.sqrt(Math.min(Math.max(share, 0), 1)) * (ramp.length - 1);
  if (!(level >= 0)) return [128, 128, 128];  // not a number
  const lower = Math.min(Math.floor(level), ramp.length - 2);
  return ramp[lower].map((from, k) => Math.round(from + (level - lower) * (ramp[lower + 1][k] - from)));
}

function shadeText(share) { return "rgb(" + shade(share).join(",") + ")"; }

// Ink that can be read on a shade.
function inkOn(share) {
  const [red, green, blue] = shade(share);
  return 0.3 * red + 0.59 * green + 0.11 * blue > 140 ? "#16161b" : "#ffffff";
}

// peak is the share that gets the last shade.
function paintCells(canvas, cells, peak = 1) {
  canvas.width = cells.columns;
  canvas.height = cells.rows;
  const image = new ImageData(cells.columns, cells.rows);
  cells.shares.forEach((share, place) => {
    image.data.set(shade(share / peak), 4 * place);
    image.data[4 * place + 3] = 255;
  });
  canvas.getContext("2d").putImageData(image, 0, 0);
}

function paintLegend() {
  const shares = Float64Array.from({length: 200}, (_, x) => (x / 199) ** 2);
  paintCells(document.getElementById("ramp"), {rows: 1, columns: 200, shares});
}

function percent(share) {
  const number = 100 * share;
  if (Number.isNaN(number)) return "not a number";
  if (number >= 9.95 || number === 0) return number.toFixed(0) + " %";
  return number >= 0.05 ? number.toFixed(1) + " %" : "under 0.1 %";
}

// "the (2nd)" where a word stands more than once; "row 7" where there are only numbers.
function nameOf(words, place) {
  const word = words[place];
  if (!meta.named) return (words === meta.rowWords ? "row " : "key ") + word;
  const before = words.slice(0, place).filter((other) => other === word).length;
  if (before === 0 && words.indexOf(word, place + 1) < 0) return word;
  const ending = {1: "st", 2: "nd", 3: "rd"}[before + 1] || "th";
  return word + " (" + (before + 1) + ending + ")";
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const svgNamespace = "http://www.w3.org/2000/svg";
function svgElement(name, attributes = {}) {
  const made = document.createElementNS(svgNamespace, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// One of several elements is in the tab order, and the arrow keys move among them. step(key, at)
// gives the place to go to, or undefined.
function roving(container, elements, step) {
  let current = 0;
  const go = (place, focus) => {
    elements[current].tabIndex = -1;
    current = place;
    elements[current].tabIndex = 0;
    if (focus) elements[current].focus();
  };
  elements.forEach((one) => { one.tabIndex = -1; });
  if (elements.length > 0) elements[0].tabIndex = 0;
  container.addEventListener("keydown", (event) => {
    const at = elements.indexOf(event.target.closest("[tabindex]"));
    const place = at < 0 ? undefined : step(event.key, at);
    if (place === undefined || place < 0 || place >= elements.length) return;
    event.preventDefault();
    go(place, true);
  });
  container.addEventListener("focusin", (event) => {
    const at = elements.indexOf(event.target.closest("[tabindex]"));
    if (at >= 0) go(at, false);
  });
  return go;
}
