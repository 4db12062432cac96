// A long text as it reads: the word that is shown, its links as shades and arcs, and as two lists.

class WordFlow {
  constructor(container, actions) {
    const shown = Math.min(nRows, WordFlow.longest);
    const words = isSelf || nRows >= nKeys ? meta.rowWords : meta.keyWords;
    this.words = words.slice(0, Math.max(shown, Math.min(nKeys, WordFlow.longest))).map((word, place) => {
      const made = element("span", {class: "word", role: "button", "data-row": place}, word);
      actions.listen(made, isSelf ? {row: place, key: place} : words === meta.rowWords ? {row: place} : {key: place});
      return made;
    });
    this.svg = svgElement("svg", {"aria-hidden": "true"});
    this.frame = element("div", {class: "flow", role: "group", "aria-label": "The words"});
    this.words.forEach((word) => this.frame.append(word, " "));
    this.frame.append(this.svg);
    roving(this.frame, this.words, (key, at) => ({ArrowRight: at + 1, ArrowLeft: at - 1,
      ArrowDown: at + 10, ArrowUp: at - 10, Home: 0, End: this.words.length - 1})[key]);
    this.look = element("ol");
    this.seen = element("ol");
    const lists = element("div", {class: "lists"},
      element("div", {}, element("h4", {class: "look"}, "looks at"), this.look),
      element("div", {}, element("h4", {class: "seen"}, "is looked at by"), this.seen));
    const title = "Hover or tap a word" + (words.length > this.words.length ? " (the first " + this.words.length + ")" : "");
    container.append(element("h3", {class: "part-title"}, title), this.frame, lists);
    window.addEventListener("resize", () => this.draw());
  }

  show(view, target) {
    const row = target.row === undefined ? [] : data.row(view, target.row).slice(0, 8);
    const column = target.key === undefined ? [] : data.column(view, target.key).slice(0, 8);
    this.target = target;
    this.links = [];
    this.words.forEach((word, place) => {
      word.classList.toggle("on", place === target.row || place === target.key);
      word.classList.remove("seen");
      word.style.background = word.style.color = "";
    });
    for (const {place, weight} of row) {
      const word = isSelf || this.words.length === nKeys ? this.words[place] : undefined;
      if (!word) continue;
      word.style.background = shadeText(weight);
      word.style.color = inkOn(weight);
      this.links.push({from: target.row, to: place, weight, kind: "look"});
    }
    for (const {place, weight} of column) {
      if (!this.words[place]) continue;
      this.words[place].classList.add("seen");
      this.links.push({from: place, to: target.key, weight, kind: "seen"});
    }
    this.list(this.look, row, meta.keyWords);
    this.list(this.seen, column, meta.rowWords);
    this.draw();
  }

  // Scrolls the text, not the page, to the word.
  reveal({row, key}) {
    const word = this.words[row ?? key];
    if (word) this.frame.scrollTop = word.offsetTop - this.frame.clientHeight / 2;
  }

  list(list, links, words) {
    list.replaceChildren(...links.map(({place, weight}) => element("li", {"data-place": place, "data-weight": weight},
      element("b", {}, percent(weight)), element("span", {}, nameOf(words, place)))));
  }

  draw() {
    if (!this.links) return;
    const frame = this.frame.getBoundingClientRect();
    const at = (place) => {
      const box = this.words[place].getBoundingClientRect();
      return [box.left + box.width / 2 - frame.left, box.top - frame.top + this.frame.scrollTop];
    };
    this.svg.style.height = this.frame.scrollHeight + "px";
    const arcs = this.links.filter(({from, to}) => from !== to && this.words[from] && this.words[to]);
    this.svg.replaceChildren(...arcs.map(({from, to, weight, kind}) => {
      const [x1, y1] = at(from);
      const [x2, y2] = at(to);
      const lift = Math.min(y1, y2) - 14 - Math.min(40, Math.abs(x2 - x1) / 6);
      return svgElement("path", {class: kind, d: `M${x1},${y1 + 3} C${x1},${lift} ${x2},${lift} ${x2},${y2 + 3}`,
        "stroke-width": 1 + 5 * weight, "stroke-opacity": 0.25 + 0.6 * Math.sqrt(weight)});
    }));
  }
}
WordFlow.longest = 4096;
