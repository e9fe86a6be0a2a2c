// Draws what the page's data holds. It knows plots, lines, bands and marks, and no metric: those are chosen where the data are made.
(() => {
  "use strict";
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("data").textContent);
  const main = document.getElementById("plots");
  // Okabe and Ito's colours, those that are legible on white; a look beyond the last one takes dashes.
  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7B4FA3"];
  const DASHES = [[], [7, 3], [2, 2], [9, 3, 2, 3]];
  const STATES = ["P", "S&D", "B", "DB"];
  const HEIGHT = 190;
  const darkScheme = matchMedia("(prefers-color-scheme: dark)");
  const seeds = [...new Set(data.runs.map((run) => run.seed))];
  const state = { protocol: data.runs[0]?.protocol ?? 0, seed: seeds[0], view: null, hidden: new Set(), printing: false };
  let plots = [];
  let theme;

  function readTheme() {
    const style = getComputedStyle(root);
    const of = (name) => style.getPropertyValue(name).trim();
    theme = {
      dark: darkScheme.matches && !state.printing,
      ink: of("--ink"), soft: of("--soft"), grid: of("--grid"), paper: of("--paper"),
      states: [null, of("--state-1"), of("--state-2"), of("--state-3")],
      font: "11px " + of("--font"),
    };
  }
  // Colours that are dark on white are too dark on black.
  function colour(hex) {
    if (!theme.dark) return hex;
    const part = (i) => Math.round(parseInt(hex.slice(i, i + 2), 16) * 0.7 + 255 * 0.3);
    return `rgb(${part(1)},${part(3)},${part(5)})`;
  }

  // Samples are differences of whole ticks and steps.
  function decode({ tick_us, t, step, v }) {
    const xs = new Array(t.length), ys = new Array(t.length);
    let time = 0, value = 0;
    for (let i = 0; i < t.length; i++) {
      xs[i] = (time += t[i]) * tick_us / 1e6;
      ys[i] = (value += v[i]) * step;
    }
    return [xs, ys];
  }
  const highest = (values) => values.reduce((most, value) => (value > most ? value : most), 0);

  function prefix(unit, most) {
    if (unit === "s") return most >= 1 ? ["", 1] : most >= 1e-3 ? ["m", 1e-3] : ["µ", 1e-6];
    if (unit === "") return ["", 1];
    for (const [letter, scale] of [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
      if (most >= scale) return [letter, scale];
    }
    return ["", 1];
  }
  function figure(value) {
    if (value == null) return "–";
    const size = Math.abs(value);
    return value.toFixed(size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
  }
  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // A plot's value at the cursor is its latest sample there, though other lines have their own times.
  function latest(u, series, place) {
    const values = u.data[series];
    for (let i = place; i >= 0; i--) if (values[i] != null) return i;
    return place;
  }

  function axes(format) {
    const line = { stroke: theme.soft, font: theme.font, grid: { stroke: theme.grid, width: 0.5 } };
    const ticks = { stroke: theme.grid, width: 0.5, size: 4 };
    return [
      { ...line, ticks, size: 26, gap: 2, values: format },
      { ...line, ticks, size: 48, gap: 3, space: 28 },
    ];
  }
  const seconds = (u, splits) => splits.map((s, i) => `${+s.toFixed(6)}${i === splits.length - 1 ? " s" : ""}`);

  function container(id, title, unit, sections) {
    const caption = element("figcaption", {}, title);
    if (unit) caption.append(element("span", { class: "unit" }, unit));
    const box = element("div", { class: "canvas" });
    const made = element("figure", { "data-plot": id, "data-points": "0" }, caption, box);
    sections.append(made);
    return box;
  }
  // How many samples are on the screen: a plot that shows none is broken, and tests look here.
  function count(u, canvas) {
    const figure = canvas.parentElement;
    const [from, to] = [u.scales.x.min, u.scales.x.max];
    let points = 0, lines = 0;
    for (let s = 1; s < u.series.length; s++) {
      if (!u.series[s].show) continue;
      const values = u.data[s];
      const before = points;
      for (let i = 0; i < values.length; i++) {
        if (values[i] != null && u.data[0][i] >= from && u.data[0][i] <= to) points++;
      }
      if (points > before) lines++;
    }
    Object.assign(figure.dataset, { points, lines, from, to });
  }
  function fit(u, box) {
    // In a frame of its own: a size that is set while sizes are observed would be observed again.
    new ResizeObserver(() => requestAnimationFrame(() => {
      const width = box.clientWidth;
      if (box.isConnected && width > 0 && width !== u.width) u.setSize({ width, height: HEIGHT });
    })).observe(box);
  }

  // Bands from the samples of a state, which holds until the next one.
  function bandsOf(states, end) {
    if (!states) return [];
    const [times, values] = decode(states);
    const bands = [];
    for (let i = 0; i < times.length; i++) {
      const until = i + 1 < times.length ? times[i + 1] : end;
      const last = bands[bands.length - 1];
      if (last && last.state === values[i]) last.to = until;
      else bands.push({ state: values[i], from: times[i], to: until });
    }
    return bands.filter((band) => band.state > 0);
  }
  function drawBands(u, bands) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.font = `${10 * devicePixelRatio}px ${theme.font.slice(5)}`;
    ctx.textBaseline = "top";
    for (const band of bands) {
      const left = u.valToPos(band.from, "x", true), right = u.valToPos(band.to, "x", true);
      ctx.fillStyle = theme.states[band.state] ?? theme.grid;
      ctx.fillRect(left, bbox.top, Math.max(right - left, 1), bbox.height);
      const name = STATES[band.state] ?? String(band.state);
      const seen = Math.max(left, bbox.left);
      if (Math.min(right, bbox.left + bbox.width) - seen > ctx.measureText(name).width + 8) {
        ctx.fillStyle = theme.soft;
        ctx.fillText(name, seen + 4, bbox.top + 3);
      }
    }
    ctx.restore();
  }
  function drawMarks(u, marks, scale, unit) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = theme.soft;
    ctx.lineWidth = devicePixelRatio * 0.75;
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.font = `${10 * devicePixelRatio}px ${theme.font.slice(5)}`;
    ctx.textAlign = "right";
    for (const [name, value] of marks) {
      if (value / scale > u.scales.y.max) continue;
      const y = u.valToPos(value / scale, "y", true);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      ctx.textBaseline = y < bbox.top + 14 * devicePixelRatio ? "top" : "bottom";
      ctx.fillText(`${name} ${+(value / scale).toPrecision(4)} ${unit}`, bbox.left + bbox.width - 4, y);
    }
    ctx.restore();
  }

  // A zoom of one plot is a zoom of all. Without a zoom each shows its whole run.
  function zoom(view) {
    state.view = view;
    for (const { u, whole } of plots) {
      const [min, max] = view ?? whole;
      u.setScale("x", { min, max });
    }
    document.getElementById("reset").disabled = view == null;
    [root.dataset.from, root.dataset.to] = view ?? ["", ""];
  }
  function selected(u) {
    const { left, width } = u.select;
    if (width < 3) return;
    const view = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    zoom(view);
  }
  // A line that is hidden in one plot is hidden in all that have it.
  let toggling = false;
  function toggled(u, change) {
    if (toggling || !plots.ready || change?.show === undefined) return;
    toggling = true;
    for (const series of u.series.slice(1)) {
      state.hidden[series.show ? "delete" : "add"](series.label);
    }
    for (const plot of plots) {
      plot.u.series.forEach((series, i) => {
        const show = !state.hidden.has(series.label);
        if (i > 0 && plot.u !== u && series.show !== show) plot.u.setSeries(i, { show });
      });
    }
    toggling = false;
  }

  function timePlot(section, run, panel, most, end, name) {
    const whole = [0, end];
    const lines = panel.lines.map((line) => ({ ...line, samples: decode(line) }));
    most = most ?? highest(lines.map((line) => highest(line.samples[1])));
    const marks = panel.marks ?? [];
    const reach = marks.reduce((reach, [, value]) => (value > reach && value <= 3 * most ? value : reach), most);
    const [letter, scale] = prefix(panel.unit, reach);
    const unit = letter + panel.unit;
    const id = name ? `${panel.id}-${data.protocols[run.protocol].name}` : panel.id;
    const canvas = container(id, name ? `${name}, ${panel.title}` : panel.title, unit, section);
    const tables = lines.map(({ samples: [xs, ys] }) => [xs, ys.map((y) => y / scale)]);
    const bands = bandsOf(panel.states, run.end_s);
    const series = lines.map((line) => ({
      label: line.label,
      show: !state.hidden.has(line.label),
      stroke: line.look == null ? theme.soft : colour(COLOURS[line.look % COLOURS.length]),
      dash: line.look == null ? [] : DASHES[Math.floor(line.look / COLOURS.length) % DASHES.length],
      width: line.look == null ? 0.75 : 1.25,
      points: { show: line.t.length < 2, size: 5 },
      value: (u, value) => figure(value),
    }));
    // On axes that are shared, and where thresholds matter, y does not follow the zoom. Names of states have room above.
    const top = (max) => ((name || marks.length > 0 || !(max > 0) ? reach / scale : max) || 1) * (panel.states ? 1.18 : 1.06);
    const pub = (type) => type === "mousemove" || type === "mouseleave";
    const options = {
      width: canvas.clientWidth, height: HEIGHT,
      padding: [8, 12, 0, 0],
      scales: {
        x: { time: false, range: () => state.view ?? whole },
        y: { range: (u, min, max) => [0, top(max)] },
      },
      series: [{ label: "t", value: (u, value) => (value == null ? "–" : `${value.toFixed(3)} s`) }, ...series],
      axes: axes(seconds),
      cursor: {
        y: false, dataIdx: latest, points: { size: 5 },
        drag: { x: true, y: false, setScale: false },
        sync: { key: "time", setSeries: false, filters: { pub, sub: pub } },
        bind: { dblclick: () => () => { zoom(null); return null; } },
      },
      hooks: {
        drawClear: [(u) => drawBands(u, bands)],
        draw: [(u) => drawMarks(u, marks, scale, unit), (u) => count(u, canvas)],
        setSelect: [selected],
        setSeries: [(u, i, change) => toggled(u, change)],
      },
    };
    const joined = tables.length > 1 ? uPlot.join(tables) : tables[0];
    const u = new uPlot(options, joined, canvas);
    plots.push({ u, whole });
    fit(u, canvas);
  }

  function timePlots() {
    const runs = data.runs.filter((run) => run.seed === state.seed);
    const longest = highest(runs.map((run) => run.end_s));
    for (const group of data.groups) {
      const across = group.id === "goodput";
      const chosen = runs.filter((run) => across || run.protocol === state.protocol);
      const found = chosen.flatMap((run) => run.panels.filter((p) => p.group === group.id).map((p) => [run, p]));
      if (found.length === 0) continue;
      const head = across ? group.title : `${group.title}: ${data.protocols[state.protocol].title}`;
      const grid = element("div", { class: "grid" });
      const section = element("section", { id: group.id }, element("h2", {}, head), element("p", { class: "about" }, group.about));
      if (found.some(([, panel]) => panel.states)) section.append(stateKey());
      section.append(grid);
      main.append(section);
      const most = across ? highest(found.flatMap(([, p]) => p.lines.map((line) => highest(decode(line)[1])))) : null;
      for (const [run, panel] of found) {
        timePlot(grid, run, panel, most, across ? longest : run.end_s, across ? data.protocols[run.protocol].title : null);
      }
      const omitted = [...new Set(found.map(([, panel]) => panel.omitted).filter(Boolean))];
      for (const text of omitted) section.append(element("p", { class: "about" }, `Shown: ${text}.`));
    }
  }
  function stateKey() {
    const key = element("p", { class: "key" });
    ["push", "store and detour", "back-pressure", "back-pressure is taken back"].forEach((name, i) => {
      key.append(element("span", {}, element("i", { class: `state state-${i}` }), `${STATES[i]} ${name}`));
    });
    return key;
  }

  function drawMarker(ctx, marker, x, y, r) {
    const line = (...points) => points.forEach(([dx, dy], i) => ctx[i ? "lineTo" : "moveTo"](x + dx * r, y + dy * r));
    ctx.beginPath();
    if (marker === "square") ctx.rect(x - 0.85 * r, y - 0.85 * r, 1.7 * r, 1.7 * r);
    else if (marker === "triangle") { line([0, -1.1], [1, 0.8], [-1, 0.8]); ctx.closePath(); }
    else if (marker === "diamond") { line([0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]); ctx.closePath(); }
    else if (marker === "pentagon") { line([0, -1.1], [1.1, -0.25], [0.65, 1], [-0.65, 1], [-1.1, -0.25]); ctx.closePath(); }
    else if (marker === "circle") ctx.arc(x, y, r, 0, 2 * Math.PI);
    else {
      if (marker !== "cross") { line([-1.1, 0], [1.1, 0]); line([0, -1.1], [0, 1.1]); }
      if (marker !== "plus") { line([-0.9, -0.9], [0.9, 0.9]); line([-0.9, 0.9], [0.9, -0.9]); }
      ctx.stroke();
      return;
    }
    ctx.fill();
  }
  // Distributions over all seeds: a step for each value, and the marker of the protocol on some.
  function curvePlot(section, curve) {
    const all = curve.lines.flatMap((line) => line.x);
    const [low, high] = [Math.min(...all), highest(all)];
    const log = low > 0 && high / low > 30;
    const [letter, scale] = prefix(curve.x, high);
    const unit = letter + curve.x;
    const margin = (high - low || high) / scale / 8;
    const [from, to] = log ? [low / scale / 1.3, high / scale * 1.3] : [Math.max(0, low / scale - margin), high / scale + margin];
    const canvas = container(curve.id, curve.x ? "within" : "ratio at most", unit, section);
    const tables = curve.lines.map(({ x, y }) => [[from, ...x.map((v) => v / scale), to], [0, ...y, 1]]);
    const looks = curve.lines.map((line) => data.protocols[line.protocol]);
    const mark = (u) => {
      u.ctx.save();
      curve.lines.forEach((line, s) => {
        if (!u.series[s + 1].show) return;
        u.ctx.fillStyle = u.ctx.strokeStyle = colour(looks[s].colour);
        u.ctx.lineWidth = 1.5 * devicePixelRatio;
        const every = Math.ceil(line.x.length / 12);
        for (let i = every - 1; i < line.x.length; i += every) {
          const x = line.x[i] / scale;
          if (x < u.scales.x.min || x > u.scales.x.max) continue;
          drawMarker(u.ctx, looks[s].marker, u.valToPos(x, "x", true), u.valToPos(line.y[i], "y", true), 3.5 * devicePixelRatio);
        }
      });
      u.ctx.restore();
    };
    const options = {
      width: canvas.clientWidth, height: HEIGHT, padding: [8, 12, 0, 0],
      scales: { x: { time: false, distr: log ? 3 : 1, range: [from, to] }, y: { range: [0, 1.04] } },
      series: [
        { label: "at most", value: (u, value) => (value == null ? "–" : `${figure(value)} ${unit}`) },
        ...looks.map((look) => ({
          label: look.title, stroke: colour(look.colour), width: 1.25, points: { show: false },
          paths: uPlot.paths.stepped({ align: 1 }), value: (u, value) => (value == null ? "–" : `${(100 * value).toFixed(0)} %`),
        })),
      ],
      axes: axes((u, splits) => splits.map((x) => (x == null ? "" : String(+x.toPrecision(6))))),
      cursor: { y: false, dataIdx: latest, points: { size: 5 }, drag: { x: false, y: false } },
      hooks: { draw: [mark, (u) => count(u, canvas)] },
    };
    const u = new uPlot(options, tables.length > 1 ? uPlot.join(tables) : tables[0], canvas);
    plots.others.push(u);
    fit(u, canvas);
  }
  function curvePlots() {
    const place = document.getElementById("curves");
    place.replaceChildren();
    for (const curve of data.curves) {
      const cell = element("section", { id: curve.id }, element("h2", {}, curve.title), element("p", { class: "about" }, curve.about));
      place.append(cell);
      curvePlot(cell, curve);
    }
  }

  function choosers() {
    const bar = document.getElementById("toolbar");
    const protocols = [...new Set(data.runs.map((run) => run.protocol))];
    const group = element("span", { class: "choice", role: "group", "aria-label": "protocol" });
    for (const number of protocols) {
      const button = element("button", { "data-protocol": data.protocols[number].name }, data.protocols[number].title);
      button.style.setProperty("--c", data.protocols[number].colour);
      button.onclick = () => { state.protocol = number; draw(); };
      group.append(button);
    }
    const reset = element("button", { id: "reset", disabled: "" }, "Whole run");
    reset.onclick = () => zoom(null);
    bar.append(group);
    if (seeds.length > 1) {
      const select = element("select", { id: "seed", "aria-label": "seed" }, ...seeds.map((seed) => element("option", { value: seed }, `seed ${seed}`)));
      select.onchange = () => { state.seed = select.value; state.view = null; draw(); };
      bar.append(select);
    }
    bar.append(reset, element("span", { class: "hint" }, "Drag to zoom all plots; a click in a legend hides a line, with Ctrl it hides the others."));
    bar.hidden = !data.runs.some((run) => run.panels.length > 0);
  }
  function draw() {
    const scroll = scrollY;
    for (const { u } of plots) u.destroy();
    for (const u of plots.others ?? []) u.destroy();
    plots = Object.assign([], { others: [] });
    readTheme();
    main.style.minHeight = `${main.offsetHeight}px`;
    main.replaceChildren();
    for (const button of document.querySelectorAll("[data-protocol]")) {
      button.setAttribute("aria-pressed", String(button.dataset.protocol === data.protocols[state.protocol].name));
    }
    curvePlots();
    timePlots();
    main.style.minHeight = "";
    scrollTo(0, scroll);
    plots.ready = true;
    zoom(state.view);
    root.dataset.ready = "1";
  }

  choosers();
  draw();
  darkScheme.addEventListener("change", draw);
  const print = (printing) => () => { state.printing = printing; root.classList.toggle("printing", printing); draw(); };
  addEventListener("beforeprint", print(true));
  addEventListener("afterprint", print(false));
})();
