// Draws what the page's data holds. It knows plots, lines, bands and marks, and no metric: those
// are chosen where the data are made.
(() => {
  "use strict";
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("data").textContent);
  const main = document.getElementById("plots");
  // Viridis in nine steps (Smith and van der Walt, 2015): its lightness grows along it, whatever
  // colours an eye sees. Protocols have Okabe and Ito's colours; what is no protocol has these.
  const RAMP = [[68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141], [39, 173, 129], [92, 200, 99], [170, 220, 50], [253, 231, 37]];
  const DASHES = [[], [7, 3], [2, 2], [9, 3, 2, 3]];
  // More lines than this are grey but for these many, spread over all.
  const BRIGHT = 8;
  const STATES = ["P", "S&D", "B", "DB"];
  const HEIGHT = 190;
  const darkScheme = matchMedia("(prefers-color-scheme: dark)");
  const seeds = [...new Set(data.runs.map((run) => run.seed))];
  const state = { off: new Set(), seed: seeds[0], view: null, hidden: new Set(), printing: false };
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
  function colour(hex, dark = theme.dark) {
    if (!dark) return hex;
    // Half way to white, black would still be hard to see.
    if (hex === "#000000") return "#e8e6e1";
    const part = (i) => Math.round(parseInt(hex.slice(i, i + 2), 16) * 0.7 + 255 * 0.3);
    return `rgb(${part(1)},${part(3)},${part(5)})`;
  }
  // The colour of one of many: neither too light on white nor too dark on black.
  function ramp(place, many, dark = theme.dark) {
    const [from, to] = dark ? [0.38, 1] : [0, 0.72];
    const at = (from + (to - from) * (many > 1 ? place / (many - 1) : 0.4)) * (RAMP.length - 1);
    const i = Math.min(Math.floor(at), RAMP.length - 2);
    const part = (c) => Math.round(RAMP[i][c] + (RAMP[i + 1][c] - RAMP[i][c]) * (at - i)).toString(16).padStart(2, "0");
    return `#${part(0)}${part(1)}${part(2)}`;
  }
  // The look of line number `look` of `many`: null where it is one of those that stay grey.
  function lookOf(look, many) {
    const place = look % many, dash = DASHES[Math.floor(look / many) % DASHES.length];
    if (many <= BRIGHT) return { place, of: many, dash };
    const bright = [...Array(BRIGHT).keys()].map((i) => Math.round(i * (many - 1) / (BRIGHT - 1)));
    const found = bright.indexOf(place);
    return found < 0 ? null : { place: found, of: BRIGHT, dash };
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
    if (unit === "" || unit === "1/s") return ["", 1];
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

  // A plot's value at the cursor is its latest sample there, though other lines have their own
  // times.
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

  function saveButtons(what, saved) {
    const buttons = ["svg", "png", "csv"].map((kind) => {
      const title = `Save this ${what} as ${kind.toUpperCase()}`;
      const button = element("button", { "data-save": kind, title }, kind.toUpperCase());
      button.onclick = () => forebaySave.save(saved(), kind);
      return button;
    });
    return element("span", { class: "save" }, ...buttons);
  }
  // Charts stand in the page already; they can be saved too.
  function chartButtons() {
    for (const chart of data.charts) {
      const section = document.querySelector(`[data-chart="${chart.id}"]`);
      const title = `${data.scenario}: ${chart.title}`;
      const saved = () => ({ title, file: fileName(data.scenario, chart.id), chart });
      section?.querySelector("h2").append(saveButtons("chart", saved));
    }
  }
  function scatterButtons() {
    const flip = document.querySelector(".flip input");
    for (const scatter of data.scatters) {
      const figure = document.querySelector(`[data-scatter="${scatter.id}"]`);
      const saved = () => ({
        title: `${data.scenario}: throughput over ${scatter.title}`, file: fileName(data.scenario, scatter.id),
        scatter, ...axesOfScatter(scatter, flip.checked), bands: [], marks: [],
        lines: scatter.groups.map((group) => ({ ...group, xs: group.ellipse.map(([x]) => x), ys: group.ellipse.map(([, y]) => y) })),
      });
      figure?.querySelector("figcaption").append(saveButtons("plot", saved));
    }
  }
  function axesOfScatter({ from_s, to_s, log, end_bps, quantity }, reversed) {
    const [second, by] = prefix("s", to_s), [letter, scale] = prefix("bit/s", end_bps);
    return {
      x: { label: `${quantity} (${second}s)`, scale: by, log, from: from_s, to: to_s, reversed },
      y: { label: `throughput (${letter}bit/s)`, scale, from: 0, to: end_bps },
    };
  }
  // A figure with its buttons; `saved` says what they write.
  function container({ id, title, unit, marker }, sections, saved) {
    const words = element("span", {}, title);
    if (marker) words.prepend(swatch(marker));
    if (unit) words.append(element("span", { class: "unit" }, unit));
    const caption = element("figcaption", {}, words, saveButtons("plot", saved));
    const box = element("div", { class: "canvas" });
    const made = element("figure", { "data-plot": id, "data-points": "0" }, caption, box);
    sections.append(made);
    return box;
  }
  function swatch(hex) {
    const made = element("i", { class: "swatch" });
    made.style.setProperty("--c", hex);
    return made;
  }
  const fileName = (...parts) => parts.join("-").replace(/[^A-Za-z0-9.-]+/g, "-").replace(/^-+|-+$/g, "") || "plot";
  // How many samples are on the screen: a plot that shows none is broken, and tests look here.
  function count(u, canvas) {
    const figure = canvas.parentElement;
    if (!figure) return;
    const [from, to] = [u.scales.x.min, u.scales.x.max];
    let points = 0, lines = 0;
    for (let s = 1; s < u.series.length; s++) {
      if (!u.series[s].show) continue;
      const values = u.data[s];
      const before = points;
      let [earlier, later] = [false, false];
      for (let i = 0; i < values.length; i++) {
        if (values[i] == null) continue;
        if (u.data[0][i] < from) earlier = true;
        else if (u.data[0][i] > to) later = true;
        else points++;
      }
      // A straight line across the screen has its samples on either side of it.
      if (points === before && earlier && later) points += 2;
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
  // Thresholds are steps: a value holds until the next one.
  function drawMarks(u, marks) {
    const { ctx, bbox } = u, dpr = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.strokeStyle = ctx.fillStyle = theme.soft;
    ctx.font = `${10 * dpr}px ${theme.font.slice(5)}`;
    ctx.textAlign = "right";
    const drawn = [];
    let before = -Infinity;
    for (const { label, text, xs, ys } of marks) {
      ctx.lineWidth = dpr;
      ctx.setLineDash([5 * dpr, 3 * dpr]);
      ctx.beginPath();
      let y = 0;
      xs.forEach((x, i) => {
        const left = u.valToPos(x, "x", true);
        if (i) ctx.lineTo(left, y);
        y = u.valToPos(ys[i], "y", true);
        ctx[i ? "lineTo" : "moveTo"](left, y);
      });
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      drawn.push(label);
      const over = y < bbox.top + 13 * dpr ? y + 12 * dpr : y - 5 * dpr;
      if (Math.abs(over - before) < 11 * dpr) continue;
      before = over;
      ctx.setLineDash([]);
      ctx.lineWidth = 3 * dpr;
      ctx.strokeStyle = theme.paper;
      ctx.strokeText(text, bbox.left + bbox.width - 4 * dpr, over);
      ctx.strokeStyle = theme.soft;
      ctx.fillText(text, bbox.left + bbox.width - 4 * dpr, over);
    }
    ctx.restore();
    return drawn;
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
      state.hidden[series.show ? "delete" : "add"](series.rest ? REST : series.label);
    }
    for (const plot of plots) {
      plot.u.series.forEach((series, i) => {
        const show = !state.hidden.has(series.rest ? REST : series.label);
        if (i > 0 && plot.u !== u && series.show !== show) plot.u.setSeries(i, { show });
      });
    }
    toggling = false;
  }

  // What a plot shows: { id, title, quantity, unit, file, marker, lines, marks, most, whole, end,
  // states }. Lines have label, samples, and a function from dark or light to their colour;
  // thresholds have label and steps.
  function timePlot(section, plot) {
    const whole = [0, plot.end];
    const { reach, scale, unit, marks } = axisOf(plot);
    const bands = bandsOf(plot.states, plot.end);
    const lines = (plot.areas ?? []).concat(plot.lines).map((line) => {
      const [xs, values] = line.samples;
      return { ...line, xs, ys: values.map((y) => y / scale) };
    });
    // Areas and the grey ones first: others are drawn over them.
    const order = (line) => (line.area ? 2 : line.rest ? 1 : 0);
    lines.sort((a, b) => order(b) - order(a));
    // Names of states and of the highest threshold have room above.
    const named = plot.states || marks.some((m) => !m.above && highest(m.ys) * 1.08 > reach / scale);
    const top = (reach / scale || 1) * (named ? 1.18 : 1.06);
    let u;
    const saved = () => savedTimePlot(plot, { u, lines, marks, bands, scale, unit, top });
    const canvas = container({ ...plot, unit }, section, saved);
    const options = timeOptions(canvas, { lines, marks, bands, top, whole });
    const tables = lines.map((line) => [line.xs, line.ys]);
    u = new uPlot(options, tables.length > 1 ? uPlot.join(tables) : tables[0], canvas);
    plots.push({ u, whole });
    const rest = lines.filter((line) => line.rest).length;
    legendOf(u, canvas, rest, marks.filter((mark) => mark.above));
    fit(u, canvas);
  }
  // How far the vertical axis reaches, its unit, and the thresholds in it.
  function axisOf(plot) {
    const peak = ([, steps]) => highest(steps.map((step) => step[1]));
    // A threshold far above all lines would flatten them, where they are what the plot is about.
    const fits = (mark) => plot.whole || peak(mark) <= 3 * plot.most;
    const reach = Math.max(plot.most, ...plot.marks.filter(fits).map(peak));
    const [letter, scale] = prefix(plot.unit, reach);
    const marks = plot.marks.map((mark) => {
      const [label, steps] = mark;
      const [own, by] = prefix(plot.unit, peak(mark));
      const last = +(steps[steps.length - 1][1] / by).toPrecision(4);
      const text = `${label}: ${last} ${own}${plot.unit}`;
      const [xs, ys] = [steps.map(([t]) => t), steps.map(([, v]) => v / scale)];
      return { label, text, above: !fits(mark), xs, ys };
    });
    return { reach, scale, unit: letter + plot.unit, marks };
  }
  function savedTimePlot(plot, { u, lines, marks, bands, scale, unit, top }) {
    const [from, to] = [u.scales.x.min, u.scales.x.max];
    const states = bands.map((band) => {
      const colour = ["", "#f6e7b8", "#f3c9b4", "#dccbe6"][band.state] ?? "#eeeeee";
      return { ...band, name: STATES[band.state] ?? "", colour };
    });
    const shown = lines.filter((line) => !hidden(line));
    return {
      title: `${data.scenario}: ${plot.title}`, file: fileName(data.scenario, plot.id),
      bands: states, marks, lines: shown.map((line) => ({ ...line, colour: line.colour(false) })),
      x: { label: "time (s)", column: "time (s)", scale: 1, from, to },
      y: { label: `${plot.quantity} (${unit})`, unit: plot.unit, scale, from: 0, to: top },
    };
  }
  function timeOptions(canvas, { lines, marks, bands, top, whole }) {
    const series = lines.map((line) => ({
      label: line.label, ...(line.rest ? { class: "rest" } : {}), show: !hidden(line),
      stroke: line.colour(theme.dark), dash: line.dash, width: line.area ? 0 : line.rest ? 0.8 : 1.4,
      ...(line.area ? { fill: line.colour(theme.dark) } : {}),
      points: { show: line.xs.length < 2, size: 5 }, value: (u, value) => figure(value),
      rest: line.rest,
    }));
    const time = { label: "t", value: (u, value) => (value == null ? "–" : `${value.toFixed(3)} s`) };
    const pub = (type) => type === "mousemove" || type === "mouseleave";
    const within = marks.filter((mark) => !mark.above);
    const drawn = (u) => {
      canvas.parentElement.dataset.marks = drawMarks(u, within).join("; ");
      count(u, canvas);
    };
    return {
      width: canvas.clientWidth, height: HEIGHT, padding: [8, 12, 0, 0],
      legend: LEGEND,
      scales: { x: { time: false, range: () => state.view ?? whole }, y: { range: [0, top] } },
      series: [time, ...series],
      axes: axes(seconds),
      cursor: {
        y: false, dataIdx: latest, points: { size: 5 },
        drag: { x: true, y: false, setScale: false },
        sync: { key: "time", setSeries: false, filters: { pub, sub: pub } },
        bind: { dblclick: () => () => { zoom(null); return null; } },
      },
      hooks: {
        drawClear: [(u) => drawBands(u, bands)],
        draw: [drawn],
        setSelect: [selected],
        setSeries: [(u, i, change) => toggled(u, change)],
      },
    };
  }
  const LEGEND = { markers: { dash: (u, i) => (u.series[i].dash?.length ? "dashed" : "solid") } };
  const hidden = (line) => state.hidden.has(line.rest ? REST : line.label);
  const REST = "\u0000rest";
  // Behind uPlot's own entries: the grey lines as one, and thresholds for which the axis has no
  // room.
  function legendOf(u, canvas, rest, above) {
    const body = canvas.querySelector(".u-legend tbody") ?? canvas.querySelector(".u-legend");
    if (rest > 0) {
      const button = element("button", { class: "more" }, `and ${rest} more, grey`);
      button.onclick = () => {
        state.hidden[state.hidden.has(REST) ? "delete" : "add"](REST);
        for (const { u } of plots) u.series.forEach((series, i) => series.rest && u.setSeries(i, { show: !state.hidden.has(REST) }));
      };
      body.append(element("tr", { class: "u-series" }, element("td", {}, button)));
    }
    for (const mark of above) body.append(element("tr", { class: "u-series above" }, element("td", {}, `${mark.text} (above the axis)`)));
  }

  // The run of each protocol that is shown: of the seed that was chosen, or its first.
  function chosenRuns() {
    const numbers = [...new Set(data.runs.map((run) => run.protocol))].filter((number) => !state.off.has(number));
    return numbers.map((number) => {
      const own = data.runs.filter((run) => run.protocol === number);
      return own.find((run) => run.seed === state.seed) ?? own[0];
    });
  }
  const nameOf = (run) => data.protocols[run.protocol].title + (run.seed === state.seed ? "" : ` (seed ${run.seed})`);
  function lineOf(line, place, many) {
    const look = lookOf(place, many);
    const rest = look == null;
    const hue = (dark) => (rest ? (dark ? "#5c6063" : "#b4b4b0") : ramp(look.place, look.of, dark));
    return { label: line.label, samples: decode(line), rest, dash: rest ? [] : look.dash, colour: hue };
  }
  function lineOfProtocol(run, line) {
    const look = data.protocols[run.protocol];
    const hue = (dark) => colour(look.colour, dark);
    return { label: nameOf(run), samples: decode(line), dash: DASHES[look.dash % DASHES.length], colour: hue };
  }
  // What a link could have carried, behind the lines: the same under all protocols of a seed.
  function areasOf(found) {
    const areas = new Map(found.flatMap(([, panel]) => (panel.area ? [[panel.area.label, panel.area]] : [])));
    const hue = (dark) => (dark ? "#3a3d40" : "#dededa");
    return [...areas.values()].map((area) => ({ label: area.label, samples: decode(area), area: true, dash: [], colour: hue }));
  }
  // One plot for all protocols where each has one line, else one for each, on the same axes.
  function drawPanels(section, found, end) {
    if (found[0][1].curves) return found.forEach(([run, panel]) => xyPlot(section, run, panel));
    const of = (panel) => (panel.area ? panel.lines.concat(panel.area) : panel.lines);
    const most = highest(found.flatMap(([, panel]) => of(panel).map((line) => highest(decode(line)[1]))));
    const single = found.every(([, panel]) => panel.lines.length === 1 && !panel.states);
    const marksOf = (list) => [...new Map(list.map((mark) => [JSON.stringify(mark), mark])).values()];
    const [, first] = found[0];
    const common = { quantity: first.quantity, unit: first.unit, most, end, whole: found.some(([, panel]) => panel.whole) };
    if (single) {
      const marks = marksOf(found.flatMap(([, panel]) => panel.marks ?? []));
      const lines = found.map(([run, panel]) => lineOfProtocol(run, panel.lines[0]));
      const labels = [...new Set(found.map(([, panel]) => panel.lines[0].label))];
      const what = labels.length === 1 && labels[0] !== "all flows" && labels[0] !== "cache" ? `, ${labels[0]}` : "";
      timePlot(section, { ...common, id: first.id, title: first.title + what, lines, marks, areas: areasOf(found) });
      return;
    }
    // Flows have the same look in all plots, other lines in those of one metric.
    const labels = [...new Set(found.flatMap(([, panel]) => panel.lines.map((line) => line.label)))];
    const flows = labels.every((label) => label.startsWith("flow "));
    for (const [run, panel] of found) {
      const look = data.protocols[run.protocol];
      const placed = (line) => (flows ? lineOf(line, line.look, panel.looks) : lineOf(line, labels.indexOf(line.label), labels.length));
      const lines = panel.lines.map((line) => (line.look == null ? lineOfProtocol(run, line) : placed(line)));
      // The same axes for all, but where they would make a line of what happens under this
      // protocol.
      const own = highest(of(panel).map((line) => highest(decode(line)[1])));
      const axis = own < most / 6 ? { most: own } : {};
      const title = `${nameOf(run)}: ${panel.title}${axis.most ? ", axis of its own" : ""}`;
      timePlot(section, {
        ...common, ...axis, id: `${panel.id}-${look.name}`, title, marker: look.colour,
        lines, marks: marksOf(panel.marks ?? []), states: panel.states, areas: areasOf([[run, panel]]),
      });
    }
  }
  // Curves that are not over time, each with its own points.
  function xyPlot(section, run, panel) {
    const { quantity, unit, lines } = panel.curves;
    const look = data.protocols[run.protocol];
    const [letter, scale] = prefix(panel.unit, highest(lines.flatMap((line) => line.y)));
    const [reach, top] = [highest(lines.flatMap((line) => line.x)), highest(lines.flatMap((line) => line.y)) / scale * 1.06 || 1];
    const tables = lines.map(({ x, y }) => [x, y.map((value) => value / scale)]);
    const hue = (i, dark) => ramp(i, lines.length, dark);
    const title = `${nameOf(run)}: ${panel.title}`;
    const [xLabel, yUnit] = [unit ? `${quantity} (${unit})` : quantity, letter + panel.unit];
    let u;
    const saved = () => ({
      title: `${data.scenario}: ${title}`, file: fileName(data.scenario, panel.id, look.name), bands: [], marks: [],
      x: { label: xLabel, column: xLabel, scale: 1, from: 0, to: reach },
      y: { label: `${panel.quantity} (${yUnit})`, unit: panel.unit, scale, from: 0, to: top },
      lines: lines.map((line, i) => ({ label: line.label, colour: hue(i, false), dash: [], xs: tables[i][0], ys: tables[i][1] }))
        .filter((line, i) => u.series[i + 1].show),
    });
    const canvas = container({ id: `${panel.id}-${look.name}`, title: `${title}, over the ${xLabel}`, unit: yUnit, marker: look.colour }, section, saved);
    const options = {
      width: canvas.clientWidth, height: HEIGHT, padding: [8, 12, 0, 0],
      scales: { x: { time: false, range: [0, reach] }, y: { range: [0, top] } },
      series: [
        { label: quantity, value: (u, value) => (value == null ? "–" : figure(value)) },
        ...lines.map((line, i) => ({ label: line.label, stroke: hue(i), width: 1.4, points: { show: false }, value: (u, value) => figure(value) })),
      ],
      axes: axes((u, splits) => splits.map((x) => (x == null ? "" : String(+x.toPrecision(6))))),
      cursor: { y: false, dataIdx: latest, points: { size: 5 }, drag: { x: false, y: false } },
      hooks: { draw: [(u) => count(u, canvas)] },
    };
    u = new uPlot(options, tables.length > 1 ? uPlot.join(tables) : tables[0], canvas);
    plots.others.push(u);
    fit(u, canvas);
  }
  function timePlots() {
    const runs = chosenRuns();
    const longest = highest(runs.map((run) => run.end_s));
    for (const group of data.groups) {
      const found = runs.flatMap((run) => run.panels.filter((p) => p.group === group.id).map((p) => [run, p]));
      if (found.length === 0) continue;
      const section = element("section", { id: group.id }, element("h2", {}, group.title), element("p", { class: "about" }, group.about));
      if (found.some(([, panel]) => panel.states)) section.append(stateKey());
      main.append(section);
      // In the order that each run has them in: one that is new to the list stands behind the one
      // before it.
      const ids = [];
      for (const run of runs) {
        let at = 0;
        for (const { id } of run.panels.filter((panel) => panel.group === group.id)) {
          if (!ids.includes(id)) ids.splice(at, 0, id);
          at = ids.indexOf(id) + 1;
        }
      }
      const own = ids.map((id) => found.filter(([, panel]) => panel.id === id));
      // Plots of one protocol each stand in rows of their own, others beside each other.
      const alone = (set) => set.length > 1 && set.some(([, panel]) => panel.lines.length > 1 || panel.states || panel.curves);
      let grid = null;
      for (const set of own) {
        // All flows together are what the plot of the only flow shows.
        const of = set[0][1].id.replace(/-all$/, "");
        const one = ([, panel]) => panel.id !== of || panel.lines.length < 2;
        if (of !== set[0][1].id && found.every(one)) continue;
        if (!grid || alone(set)) {
          grid = element("div", { class: `grid ${alone(set) ? `of-${Math.min(set.length, 4)}` : ""}` });
          section.append(grid);
        }
        drawPanels(grid, set, longest);
        if (alone(set)) grid = null;
      }
      const omitted = new Map();
      for (const [run, panel] of found) {
        if (panel.omitted) omitted.set(panel.omitted, [...(omitted.get(panel.omitted) ?? []), nameOf(run)]);
      }
      for (const [text, names] of omitted) {
        const of = omitted.size > 1 ? ` of ${[...new Set(names)].join(", ")}` : "";
        section.append(element("p", { class: "about" }, `Shown${of}: ${text}.`));
      }
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
    const strokes = forebaySave.MARKERS[marker] ?? forebaySave.MARKERS.circle;
    ctx.beginPath();
    for (const points of strokes) {
      points.forEach(([dx, dy], i) => ctx[i ? "lineTo" : "moveTo"](x + dx * r, y + dy * r));
    }
    ctx[strokes.length > 1 ? "stroke" : "fill"]();
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
    const looks = curve.lines.map((line) => data.protocols[line.protocol]);
    const tables = curve.lines.map(({ x, y }) => [[from, ...x.map((v) => v / scale), to], [0, ...y, 1]]);
    const paths = curve.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {};
    const dashes = (look) => DASHES[look.dash % DASHES.length];
    const saved = () => ({
      title: `${data.scenario}: ${curve.title}`, file: fileName(data.scenario, curve.id), bands: [], marks: [],
      x: { label: curve.x ? `${curve.title.replace(/ [(].*[)]$/, "")} (${unit})` : curve.title, column: curve.x ? `at most (${curve.x})` : "at most", scale, log, from, to },
      y: { label: `share of ${curve.of}`, unit: "", scale: 1, from: 0, to: 1.04 },
      lines: looks.map((look, i) => ({ label: look.title, colour: look.colour, dash: dashes(look), stepped: curve.stepped, xs: tables[i][0], ys: tables[i][1] }))
        .filter((line, i) => u.series[i + 1].show),
    });
    const canvas = container({ id: curve.id, title: `share of ${curve.of} ${curve.x ? "within" : "with a ratio of at most"}`, unit }, section, saved);
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
      legend: LEGEND,
      scales: { x: { time: false, distr: log ? 3 : 1, range: [from, to] }, y: { range: [0, 1.04] } },
      series: [
        { label: "at most", value: (u, value) => (value == null ? "–" : `${figure(value)} ${unit}`) },
        ...looks.map((look) => ({
          label: look.title, stroke: colour(look.colour), dash: dashes(look), width: 1.4, points: { show: false },
          ...paths, value: (u, value) => (value == null ? "–" : `${(100 * value).toFixed(0)} %`),
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
      const button = element("button", { "data-protocol": number, title: "Show or hide the plots over time of this protocol" }, data.protocols[number].title);
      button.style.setProperty("--c", data.protocols[number].colour);
      button.onclick = () => { state.off[state.off.has(number) ? "delete" : "add"](number); draw(); };
      group.append(button);
    }
    group.hidden = protocols.length < 2;
    const reset = element("button", { id: "reset", disabled: "" }, "Whole run");
    reset.onclick = () => zoom(null);
    bar.append(group);
    if (seeds.length > 1) {
      const select = element("select", { id: "seed", "aria-label": "seed" }, ...seeds.map((seed) => element("option", { value: seed }, `seed ${seed}`)));
      select.onchange = () => { state.seed = select.value; state.view = null; draw(); };
      bar.append(select);
    }
    bar.append(reset, element("span", { class: "hint" }, "Drag to zoom all plots; a click in a legend hides a line, with Ctrl it hides the others. SVG, PNG and CSV hold what a plot shows."));
    bar.hidden = !data.runs.some((run) => run.panels.length > 0);
  }
  function draw() {
    const scroll = scrollY;
    for (const { u } of plots) u.destroy();
    for (const u of plots.others ?? []) u.destroy();
    plots = Object.assign([], { others: [] });
    readTheme();
    main.style.minHeight = `${main.offsetHeight}px`;
    if (data.runs.some((run) => run.panels.length > 0)) main.replaceChildren();
    for (const button of document.querySelectorAll("[data-protocol]")) {
      button.setAttribute("aria-pressed", String(!state.off.has(+button.dataset.protocol)));
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
  chartButtons();
  scatterButtons();
  draw();
  darkScheme.addEventListener("change", draw);
  const print = (printing) => () => { state.printing = printing; root.classList.toggle("printing", printing); draw(); };
  addEventListener("beforeprint", print(true));
  addEventListener("afterprint", print(false));
})();
