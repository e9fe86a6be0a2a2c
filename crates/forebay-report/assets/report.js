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
  const DASHES = data.dashes;
  const dashOf = (look) => DASHES[look.dash % DASHES.length];
  // Looks come with the data: the same in the page, its plots and what they save.
  forebaySave.setMarkers(data.markers);
  // More lines than this are grey but for these many, spread over all.
  const BRIGHT = 8;
  const STATES = ["P", "S&D", "B", "DB"];
  const HEIGHT = 190;
  // Most protocols in one plot, unless a reader wants more.
  const TOGETHER = 8;
  // Height of the plots of one protocol each that stand in place of one of all.
  const SMALL = 110;
  const darkScheme = matchMedia("(prefers-color-scheme: dark)");
  const seeds = [...new Set(data.runs.map((run) => run.seed))];
  const state = { off: new Set(), seed: seeds[0], view: null, hidden: new Set(), printing: false, apart: new Map(), smooth: new Map() };
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
  const decoded = new WeakMap();
  function decode(line) {
    if (!decoded.has(line)) decoded.set(line, decodeSamples(line));
    return decoded.get(line);
  }
  function decodeSamples({ tick_us, t, step, v }) {
    const xs = new Array(t.length), ys = new Array(t.length);
    let time = 0, value = 0;
    for (let i = 0; i < t.length; i++) {
      xs[i] = (time += t[i]) * tick_us / 1e6;
      ys[i] = (value += v[i]) * step;
    }
    return [xs, ys];
  }
  const { highest, reachOf, smoothed, widthOfMean, isCarpet } = forebayLines;
  // Most values beyond an axis that are written.
  const CLIPS = 3;

  // All times of plots over time have one unit: that of the geometric mean of their peaks.
  const ofSeconds = (() => {
    const of = (panel) => (panel.curves ? panel.curves.lines.flatMap((line) => line.y) : panel.lines.flatMap((line) => decode(line)[1]));
    const panels = data.runs.flatMap((run) => run.panels).filter((panel) => panel.unit === "s");
    const peaks = panels.map((panel) => highest(of(panel))).filter((peak) => peak > 0);
    if (peaks.length === 0) return null;
    return prefix("s", Math.exp(peaks.reduce((sum, peak) => sum + Math.log(peak), 0) / peaks.length));
  })();
  const unitOf = (unit, most) => (unit === "s" && ofSeconds ? ofSeconds : prefix(unit, most));
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
    const [flip, zoomed] = [".flip input", ".zoom input"].map((of) => document.querySelector(of));
    for (const scatter of data.scatters) {
      const figure = document.querySelector(`[data-scatter="${scatter.id}"]`);
      const saved = () => {
        const axis = zoomed.checked ? 1 : 0;
        const groups = scatter.groups.map((group) => ({ ...group, ...group.summaries[axis] }));
        return {
          title: `${data.scenario}: throughput over ${scatter.title}`, file: fileName(data.scenario, scatter.id),
          scatter: { ...scatter, groups }, ...axesOfScatter(scatter, scatter.axes[axis], flip.checked), bands: [], marks: [],
          lines: groups.map((group) => ({ ...group, xs: group.ellipse.map(([x]) => x), ys: group.ellipse.map(([, y]) => y) })),
        };
      };
      figure?.querySelector("figcaption").append(saveButtons("plot", saved));
    }
  }
  function axesOfScatter({ unit_s, rates, quantity }, { from, to, log }, reversed) {
    const [[second, by], [letter, scale]] = [unit_s, prefix("bit/s", rates.to)];
    return {
      x: { label: `${quantity} (${second}s)`, scale: by, log, from, to, reversed },
      y: { label: `throughput (${letter}bit/s)`, scale, ...rates },
    };
  }
  // A figure with its buttons; `saved` says what they write.
  function container({ id, title, unit, look, small, buttons }, sections, saved) {
    const words = element("span", {}, title);
    if (look) words.prepend(picture(look));
    if (unit && !small) words.append(element("span", { class: "unit" }, unit));
    const all = saveButtons("plot", saved);
    all.prepend(...(buttons ?? []));
    const caption = element("figcaption", {}, words, all);
    const box = element("div", { class: small ? "canvas small" : "canvas" });
    const made = element("figure", { "data-plot": id, "data-points": "0" }, caption, box);
    sections.append(made);
    return box;
  }
  // The marker of a protocol.
  function picture(look) {
    const { open, strokes } = forebaySave.markerOf(look.marker);
    const path = strokes.map((points) => points.map(([x, y], i) => `${i ? "L" : "M"}${4.5 * x} ${4.5 * y}`).join("")).join("");
    const [svg, shape] = ["svg", "path"].map((name) => document.createElementNS("http://www.w3.org/2000/svg", name));
    for (const [key, value] of [["class", "marker"], ["viewBox", "-6 -6 12 12"], ["aria-hidden", "true"]]) svg.setAttribute(key, value);
    shape.setAttribute("d", path);
    if (open) shape.setAttribute("class", "open");
    svg.style.setProperty("--c", look.colour);
    svg.append(shape);
    return svg;
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
  function fit(u, box, height = HEIGHT) {
    // In a frame of its own: a size that is set while sizes are observed would be observed again.
    new ResizeObserver(() => requestAnimationFrame(() => {
      const width = box.clientWidth;
      if (box.isConnected && width > 0 && width !== u.width) u.setSize({ width, height });
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
  // Draws within what the axes of a plot enclose: `paint` has a pen and that frame, in pixels of the
  // page.
  function over(u, paint) {
    const { ctx, bbox } = u, dpr = devicePixelRatio, font = theme.font.slice(5);
    const [left, top] = [bbox.left / dpr, bbox.top / dpr];
    const place = (axis) => (value) => u.valToPos(value, axis, true) / dpr;
    ctx.save();
    ctx.scale(dpr, dpr);
    paint(forebaySave.penOf(ctx, font, theme.paper), {
      left, top, right: left + bbox.width / dpr, bottom: top + bbox.height / dpr,
      from: u.scales.x.min, to: u.scales.x.max, x: place("x"), y: place("y"), size: 10, font, fill: theme.soft,
    });
    ctx.restore();
  }
  function drawBands(u, bands) {
    const own = bands.map((band) => ({ ...band, name: STATES[band.state] ?? String(band.state), colour: theme.states[band.state] ?? theme.grid }));
    over(u, (pen, frame) => forebaySave.paintBands(pen, own, frame));
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

  // The highest values of lines that are above the axis, where they are.
  function clipsOf(u, lines) {
    const [from, to, top] = [u.scales.x.min, u.scales.x.max, u.scales.y.max];
    const clips = [];
    lines.forEach((line, i) => {
      // Of a mean over time the samples say it.
      if (!u.series[i + 1].show || (line.bold && lines.some((other) => other.faint))) return;
      let at = -1;
      line.xs.forEach((x, k) => {
        if (x >= from && x <= to && line.ys[k] > top && !(line.ys[k] <= line.ys[at])) at = k;
      });
      if (at >= 0) clips.push({ x: line.xs[at], y: line.ys[at], text: `▲ ${figure(line.ys[at])}`, line });
    });
    // Of many the highest: all of them would hide the plot.
    clips.sort((a, b) => b.y - a.y);
    const more = clips.length - CLIPS;
    if (more > 0) clips[0].text += ` and ${more} more`;
    return clips.slice(0, CLIPS).sort((a, b) => a.x - b.x);
  }
  // What a plot shows: { id, title, savedAs, quantity, unit, look, lines, marks, most, whole, end,
  // states, small, buttons }. Lines have label, samples, and a function from dark or light to their
  // colour; thresholds have label and steps.
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
    const height = plot.small ? SMALL : HEIGHT;
    const options = timeOptions(canvas, { lines, marks, bands, top, whole, height });
    const tables = lines.map((line) => [line.xs, line.ys]);
    u = new uPlot(options, tables.length > 1 ? uPlot.join(tables) : tables[0], canvas);
    plots.push({ u, whole });
    const rest = lines.filter((line) => line.rest).length;
    legendOf(u, canvas, rest, marks.filter((mark) => mark.above));
    fit(u, canvas, height);
  }
  const peakOf = ([, steps]) => highest(steps.map((step) => step[1]));
  // How far the vertical axis reaches, its unit, and the thresholds in it.
  function axisOf(plot) {
    // A threshold far above all lines would flatten them, where they are what the plot is about.
    const fits = (mark) => plot.whole || peakOf(mark) <= 3 * plot.most;
    const reach = Math.max(plot.most, ...plot.marks.filter(fits).map(peakOf));
    const [letter, scale] = unitOf(plot.unit, reach);
    const marks = plot.marks.map((mark) => {
      const [label, steps] = mark;
      const [own, by] = prefix(plot.unit, peakOf(mark));
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
    const clips = clipsOf(u, lines).map(({ x, text, line }) => ({ x, text, colour: line.colour(false) }));
    return {
      title: `${data.scenario}: ${plot.savedAs ?? plot.title}`, file: fileName(data.scenario, plot.id),
      bands: states, marks, clips, lines: shown.map((line) => ({ ...line, colour: line.colour(false), label: line.bold ? `${line.label}, mean` : line.label })),
      x: { label: "time (s)", column: "time (s)", scale: 1, from, to },
      y: { label: `${plot.quantity} (${unit})`, unit: plot.unit, scale, from: 0, to: u.scales.y.max ?? top },
    };
  }
  function timeOptions(canvas, { lines, marks, bands, top, whole, height }) {
    const series = lines.map((line) => ({
      label: line.label, ...(line.rest ? { class: "rest" } : {}), show: !hidden(line),
      stroke: line.colour(theme.dark), dash: line.dash, width: line.area ? 0 : line.rest || line.faint ? 0.8 : line.bold ? 2 : 1.4,
      ...(line.faint ? { alpha: 0.4 } : {}),
      ...(line.area ? { fill: line.colour(theme.dark) } : {}),
      points: { show: line.xs.length < 2, size: 5 }, value: atCursor(figure),
      rest: line.rest,
    }));
    const time = { label: "t", value: atCursor((value) => `${value.toFixed(3)} s`) };
    const pub = (type) => type === "mousemove" || type === "mouseleave";
    const within = marks.filter((mark) => !mark.above);
    const drawn = (u) => {
      const { dataset } = canvas.parentElement;
      const clips = clipsOf(u, lines).map((clip) => ({ ...clip, colour: clip.line.colour(theme.dark) }));
      over(u, (pen, frame) => {
        forebaySave.paintMarks(pen, within, frame);
        forebaySave.paintClips(pen, clips, frame);
      });
      dataset.marks = within.map((mark) => mark.label).join("; ");
      dataset.clipped = clips.map((clip) => clip.text).join("; ");
      dataset.top = u.scales.y.max;
      count(u, canvas);
    };
    return {
      width: canvas.clientWidth, height, padding: [8, 12, 0, 0],
      legend: LEGEND,
      // A zoom shows what the axis of the whole run cuts off.
      scales: { x: { time: false, range: () => state.view ?? whole }, y: { range: (u, _, most) => [0, state.view ? Math.max(top, 1.06 * most) : top] } },
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
  // An entry of a legend has a value while the cursor is on the plot, else its name alone.
  const atCursor = (text) => (u, value, series, place) => (place == null ? "" : value == null ? "–" : text(value));
  const LEGEND = { markers: { dash: (u, i) => (u.series[i].dash?.length ? (u.series[i].dash[0] > 2 ? "dashed" : "dotted") : "solid") } };
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
    return { label: nameOf(run), samples: decode(line), dash: dashOf(look), colour: hue };
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
    const most = highest(found.flatMap(([, panel]) => reachesOf(panel)));
    const [, first] = found[0];
    const common = { quantity: first.quantity, unit: first.unit, most, end, whole: found.some(([, panel]) => panel.whole) };
    const draw = isSingle(found) ? drawTogether : drawEach;
    draw(section, found, common);
  }
  const isSingle = (found) => found.every(([, panel]) => panel.lines.length === 1 && !panel.states);
  function reachesOf(panel) {
    const areas = (panel.area ? [panel.area] : []).map((area) => reachOf(decode(area)));
    const capacities = areas.concat(panel.whole ? (panel.marks ?? []).map(peakOf) : []);
    const capacity = capacities.length ? highest(capacities) : Infinity;
    return areas.concat(panel.lines.map((line) => reachOf(decode(line), capacity)));
  }
  const marksOf = (list) => [...new Map(list.map((mark) => [JSON.stringify(mark), mark])).values()];
  // A line for each protocol, in one plot or, where the reader wants it or they would cover each
  // other, in a small one each.
  function drawTogether(section, found, common) {
    const [, first] = found[0];
    const marks = marksOf(found.flatMap(([, panel]) => panel.marks ?? []));
    const lines = found.map(([run, panel]) => lineOfProtocol(run, panel.lines[0]));
    const labels = [...new Set(found.map(([, panel]) => panel.lines[0].label))];
    const what = labels.length === 1 && labels[0] !== "all flows" && labels[0] !== "cache" ? `, ${labels[0]}` : "";
    const buttons = [apartButton(first.id, found), smoothButton(first.id, found)].filter(Boolean);
    const { drawn, mean } = smoothedLines(lines, common.end, isSmooth(first.id, found), isApart(first.id, found));
    const plot = { ...common, id: first.id, title: first.title + what + mean, marks, areas: areasOf(found), buttons };
    if (!isApart(first.id, found)) return timePlot(section, { ...plot, lines: drawn });
    const { unit } = axisOf(plot);
    const words = element("span", {}, `${plot.title}: each protocol, on the same axes`, element("span", { class: "unit" }, unit));
    const row = element("div", { class: "multiples" });
    section.append(element("p", { class: "caption", "data-multiples": first.id }, words, element("span", { class: "save" }, ...buttons)), row);
    found.forEach(([run], i) => {
      const look = data.protocols[run.protocol];
      const own = drawn.filter((line) => line.label === lines[i].label).map((line) => ({ ...line, dash: [] }));
      timePlot(row, { ...plot, id: `${first.id}-${look.name}`, title: nameOf(run), savedAs: `${nameOf(run)}: ${plot.title}`, look, lines: own, small: true, buttons: [] });
    });
  }
  // So are more protocols than an eye follows in one plot.
  function isApart(id, found) {
    if (found.length < 2 || !isSingle(found)) return false;
    const chosen = state.apart.get(id);
    return chosen ?? (found.length > TOGETHER || isCrowded(id, found));
  }
  const crowded = new Map();
  function isCrowded(id, found) {
    const key = `${id} ${found.map(([run]) => `${run.protocol}/${run.seed}`)}`;
    if (!crowded.has(key)) {
      const most = highest(found.flatMap(([, panel]) => reachesOf(panel)));
      const end = highest(found.map(([run]) => run.end_s));
      crowded.set(key, isCarpet(found.map(([, panel]) => ({ samples: decode(panel.lines[0]) })), most, end, HEIGHT));
    }
    return crowded.get(key);
  }
  const isSmooth = (id, found) => state.smooth.get(id) ?? (isApart(id, found) && isCrowded(id, found));
  function choice(name, id, words, title, press) {
    const button = element("button", { [`data-${name}`]: id, title }, words);
    button.onclick = () => { press(); draw(); };
    return button;
  }
  function apartButton(id, found) {
    const apart = isApart(id, found);
    const [words, title] = apart ? ["together", "One plot for all protocols"] : ["apart", "A small plot for each protocol, on the same axes"];
    return found.length > 1 ? choice("apart", id, words, title, () => state.apart.set(id, !apart)) : null;
  }
  function smoothButton(id, found) {
    const smooth = isSmooth(id, found);
    const title = smooth ? "Show the samples" : "Show a mean over time";
    return choice("smooth", id, smooth ? "samples" : "smooth", title, () => state.smooth.set(id, !smooth));
  }
  // Means over time in place of lines; where there is room, with the samples behind them.
  function smoothedLines(lines, end, smooth, roomy) {
    if (!smooth) return { drawn: lines, mean: "" };
    const width = widthOfMean(end);
    const meanOf = (line) => (line.rest || line.samples[0].length < 3 ? line : { ...line, samples: smoothed(line.samples, width), bold: true });
    const faint = roomy ? lines.map((line) => ({ ...line, faint: true, dash: [] })) : [];
    return { drawn: faint.concat(lines.map(meanOf)), mean: `, smoothed: mean over ${+width.toPrecision(2)} s` };
  }
  // A plot for each protocol, with a line for each flow or port.
  function drawEach(section, found, common) {
    // Flows have the same look in all plots, other lines in those of one metric.
    const labels = [...new Set(found.flatMap(([, panel]) => panel.lines.map((line) => line.label)))];
    const flows = labels.every((label) => label.startsWith("flow "));
    for (const [run, panel] of found) {
      const look = data.protocols[run.protocol];
      const placed = (line) => (flows ? lineOf(line, line.look, panel.looks) : lineOf(line, labels.indexOf(line.label), labels.length));
      const lines = panel.lines.map((line) => (line.look == null ? lineOfProtocol(run, line) : placed(line)));
      // The same axes for all, but where they would make a line of what happens under this
      // protocol.
      const own = highest(reachesOf(panel));
      const axis = own < common.most / 6 ? { most: own } : {};
      const { drawn, mean } = smoothedLines(lines, common.end, isSmooth(panel.id, found), false);
      const title = `${nameOf(run)}: ${panel.title}${mean}${axis.most ? ", axis of its own" : ""}`;
      timePlot(section, {
        ...common, ...axis, id: `${panel.id}-${look.name}`, title, look, buttons: [smoothButton(panel.id, found)],
        lines: drawn, marks: marksOf(panel.marks ?? []), states: panel.states, areas: areasOf([[run, panel]]),
      });
    }
  }
  // Curves that are not over time, each with its own points.
  function xyPlot(section, run, panel) {
    const { quantity, unit, lines } = panel.curves;
    const look = data.protocols[run.protocol];
    const [letter, scale] = unitOf(panel.unit, highest(lines.flatMap((line) => line.y)));
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
    const canvas = container({ id: `${panel.id}-${look.name}`, title: `${title}, over the ${xLabel}`, unit: yUnit, look }, section, saved);
    const options = {
      width: canvas.clientWidth, height: HEIGHT, padding: [8, 12, 0, 0],
      scales: { x: { time: false, range: [0, reach] }, y: { range: [0, top] } },
      series: [
        { label: quantity, value: atCursor(figure) },
        ...lines.map((line, i) => ({ label: line.label, stroke: hue(i), width: 1.4, points: { show: false }, value: atCursor(figure) })),
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
      const shares = (set) => set.length > 1 && set.some(([, panel]) => panel.lines.length > 1 || panel.states || panel.curves);
      const alone = (set) => shares(set) || isApart(set[0][1].id, set);
      let grid = null;
      for (const set of own) {
        // All flows together are what the plot of the only flow shows.
        const of = set[0][1].id.replace(/-all$/, "");
        const one = ([, panel]) => panel.id !== of || panel.lines.length < 2;
        if (of !== set[0][1].id && found.every(one)) continue;
        if (!grid || alone(set)) {
          grid = element("div", { class: `grid ${shares(set) ? `of-${Math.min(set.length, 4)}` : ""}` });
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
    const { open, strokes } = forebaySave.markerOf(marker);
    ctx.beginPath();
    for (const points of strokes) {
      points.forEach(([dx, dy], i) => ctx[i ? "lineTo" : "moveTo"](x + dx * r, y + dy * r));
    }
    ctx[open ? "stroke" : "fill"]();
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
    const saved = () => ({
      title: `${data.scenario}: ${curve.title}`, file: fileName(data.scenario, curve.id), bands: [], marks: [],
      x: { label: curve.x ? `${curve.title.replace(/ [(].*[)]$/, "")} (${unit})` : curve.title, column: curve.x ? `at most (${curve.x})` : "at most", scale, log, from, to },
      y: { label: `share of ${curve.of}`, unit: "", scale: 1, from: 0, to: 1.04 },
      lines: looks.map((look, i) => ({ label: look.title, colour: look.colour, marker: look.marker, dash: dashOf(look), stepped: curve.stepped, xs: tables[i][0], ys: tables[i][1] }))
        .filter((line, i) => u.series[i + 1].show),
    });
    const canvas = container({ id: curve.id, title: `share of ${curve.of} ${curve.x ? "within" : "with a ratio of at most"}`, unit }, section, saved);
    const mark = (u) => {
      u.ctx.save();
      curve.lines.forEach((line, s) => {
        if (!u.series[s + 1].show) return;
        u.ctx.fillStyle = u.ctx.strokeStyle = colour(looks[s].colour);
        u.ctx.lineWidth = 1.5 * devicePixelRatio;
        for (const i of forebaySave.marked(line.x.length)) {
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
        { label: "at most", value: atCursor((value) => `${figure(value)} ${unit}`) },
        ...looks.map((look) => ({
          label: look.title, stroke: colour(look.colour), dash: dashOf(look), width: 1.4, points: { show: false },
          ...paths, value: atCursor((value) => `${(100 * value).toFixed(0)} %`),
        })),
      ],
      // A logarithmic axis may begin at any number; its ticks are round.
      axes: axes((u, splits) => splits.map((x) => (x == null || (log && x !== +x.toPrecision(1)) ? "" : String(+x.toPrecision(6))))),
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
      const button = element("button", { "data-protocol": number, title: "Show or hide the plots over time of this protocol" }, picture(data.protocols[number]), data.protocols[number].title);
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
