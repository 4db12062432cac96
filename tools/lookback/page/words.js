// A short text: rows on the left look at keys on the right, with an arc for every weight.

class WordColumns {
  constructor(container, actions) {
    this.left = this.column("looks", meta.rowWords, "row", actions);
    this.right = this.column("is looked at", meta.keyWords, "key", actions);
    this.svg = svgElement("svg", {"aria-hidden": "true"});
    this.frame = element("div", {class: "columns"}, this.left.list, this.right.list, this.svg);
    container.append(element("h3", {class: "part-title"}, "A word looks (left) at words (right)"), this.frame);
    window.addEventListener("resize", () => this.draw());
  }

  column(label, words, kind, actions) {
    const buttons = words.map((word, place) => element("button", {type: "button", ["data-" + kind]: place},
      element("span", {class: "word"}, word), element("span", {class: "share"})));
    const list = element("ol", {class: "column", "aria-label": label}, ...buttons.map((button) => element("li", {}, button)));
    roving(list, buttons, (key, at) => ({ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1})[key]);
    buttons.forEach((button, place) => {
      const target = isSelf ? {row: place, key: place} : {[kind]: place};
      actions.listen(button, target);
    });
    return {list, buttons};
  }

  show(view, target) {
    this.view = view;
    this.target = target;
    this.left.buttons.forEach((button, i) => {
      const weight = target.key === undefined ? undefined : data.weight(view, i, target.key);
      this.label(button, weight, i === target.row, "looks with " );
    });
    this.right.buttons.forEach((button, j) => {
      const weight = target.row === undefined ? undefined : data.weight(view, target.row, j);
      this.label(button, weight, j === target.key && !isSelf || isSelf && j === target.row, "gets ");
    });
    this.draw();
  }

  reveal() {}  // all of it is in view

  label(button, weight, on, verb) {
    const said = weight === undefined || weight < 0.0005 ? "" : percent(weight);
    button.lastChild.textContent = said;
    button.classList.toggle("on", on);
    button.setAttribute("aria-label", button.firstChild.textContent + (said ? ", " + verb + said : ""));
  }

  draw() {
    if (!this.view) return;
    const frame = this.frame.getBoundingClientRect();
    const {row, key} = this.target;
    const arcs = [];
    for (let i = 0; i < nRows; ++i) {
      for (let j = 0; j < nKeys; ++j) {
        const weight = data.weight(this.view, i, j);
        const kind = i === row ? "look" : j === key ? "seen" : "rest";
        if (weight < (kind === "rest" ? 0.1 : 0.004)) continue;
        arcs.push({i, j, weight, kind});
      }
    }
    arcs.sort((a, b) => (a.kind === "rest" ? 0 : 1) - (b.kind === "rest" ? 0 : 1));
    this.svg.replaceChildren(...arcs.map((arc) => this.arc(frame, arc)));
  }

  arc(frame, {i, j, weight, kind}) {
    const from = this.left.buttons[i].getBoundingClientRect();
    const to = this.right.buttons[j].getBoundingClientRect();
    const [x1, y1] = [from.right - frame.left + 2, from.top + from.height / 2 - frame.top];
    const [x2, y2] = [to.left - frame.left - 2, to.top + to.height / 2 - frame.top];
    const middle = (x1 + x2) / 2;
    return svgElement("path", {
      class: kind, "data-row": i, "data-key": j,
      d: `M${x1},${y1} C${middle},${y1} ${middle},${y2} ${x2},${y2}`,
      "stroke-width": 1 + 7 * weight,
      "stroke-opacity": kind === "rest" ? 0.18 : 0.35 + 0.65 * Math.sqrt(weight),
    });
  }
}
