// Sorts and filters the table of points and protocols. It knows rows and columns, and no metric.
(() => {
  "use strict";
  const section = document.getElementById("table");
  if (!section) return;
  const table = section.querySelector("table");
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => ({ row, text: [...row.querySelectorAll("th")].map((cell) => cell.textContent) }));
  const heads = [...table.tHead.rows[0].cells];
  const names = heads.filter((head) => head.classList.contains("name")).length;
  const baseline = section.querySelector("[data-baseline]");
  // Up to this many names are a list to choose from.
  const MOST = 100;
  const state = { column: null, down: false, differences: false };
  const bar = document.createElement("p");
  bar.className = "filters";

  function labelled(text, field) {
    const label = document.createElement("label");
    label.append(text + " ", field);
    bar.append(label);
    return field;
  }

  function choice(options) {
    const select = document.createElement("select");
    for (const [value, text] of options) select.add(new Option(text, value));
    select.addEventListener("change", show);
    return select;
  }

  const words = document.createElement("input");
  words.type = "search";
  words.placeholder = "words that a row has, or -words";
  words.addEventListener("input", show);
  labelled("Filter", words);
  const chosen = heads.slice(0, names).map((head, column) => {
    const all = [...new Set(rows.map((of) => of.text[column]))];
    if (all.length < 2 || all.length > MOST) return null;
    return labelled(head.textContent, choice([["", "all"], ...all.map((name) => [name, name])]));
  });
  const what = baseline && labelled("Show", choice([["v", "values"], ["d", "differences from " + baseline.dataset.baseline]]));
  const count = document.createElement("output");
  bar.append(count);
  table.parentElement.before(bar);

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      state.down = state.column === column ? !state.down : column >= names;
      state.column = column;
      show();
    });
  });

  function isShown({ text }) {
    const all = text.join(" ").toLowerCase();
    const wanted = words.value.toLowerCase().split(/\s+/).filter((word) => word && word !== "-");
    return wanted.every((word) => (word[0] === "-" ? !all.includes(word.slice(1)) : all.includes(word)))
      && chosen.every((select, column) => !select || !select.value || select.value === text[column]);
  }

  // What has no value comes last, whichever way rows are sorted.
  function compare(a, b) {
    const { column, down } = state;
    const sign = down ? -1 : 1;
    if (column < names) return sign * a.text[column].localeCompare(b.text[column], undefined, { numeric: true });
    const key = state.differences ? "d" : "v";
    const [x, y] = [a, b].map(({ row }) => row.cells[column].dataset[key]);
    if (x === "" || y === "") return (x === "") - (y === "");
    return sign * (x - y);
  }

  function show() {
    state.differences = Boolean(what && what.value === "d");
    table.classList.toggle("differences", state.differences);
    const shown = rows.filter(isShown);
    if (state.column !== null) shown.sort(compare);
    heads.forEach((head, column) => {
      const sorted = column === state.column;
      head.setAttribute("aria-sort", sorted ? (state.down ? "descending" : "ascending") : "none");
    });
    body.replaceChildren(...shown.map(({ row }) => row));
    count.textContent = `${shown.length} of ${rows.length} rows`;
  }
  show();
})();
