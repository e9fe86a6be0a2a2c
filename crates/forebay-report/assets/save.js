// Writes a plot or a chart to a file: SVG and PNG as for a paper (white, with title, axes, units
// and legend), CSV with its numbers. A plot is { title, file, x: { label, log, from, to }, y: {
// label, from, to }, lines, marks, bands }, in units of its axes. A chart has rows instead: {
// title, file, chart } with the chart as the page's data have it.
const forebaySave = (() => {
  "use strict";
  const FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";
  const INK = "#000000", SOFT = "#444444", GRID = "#dddddd";
  const WIDTH = 720, PLOT = 320, LEFT = 78, RIGHT = 18, TOP = 40, BELOW = 52, ROW = 20;
  const SCALE = 3;
  // Plots of a paper: text of 14 on a width of 720 is 7 pt in a column of 3.5 inches at least.
  const SIZE = 14;
  const measure = document.createElement("canvas").getContext("2d");
  function widthOf(text, size, font = FONT) {
    measure.font = `${size}px ${font}`;
    return measure.measureText(text).width;
  }

  // Two pens with the same strokes.
  function svgPen(width, height, title) {
    const escape = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
    const n = (value) => +value.toFixed(2);
    const out = [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${escape(FONT)}">`,
      `<title>${escape(title)}</title>`,
    ];
    let clips = 0;
    return {
      rect: (x, y, w, h, fill) => out.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" fill="${fill}"/>`),
      line: (points, stroke, wide, dash, fill) => {
        if (points.length === 0) return;
        const path = points.map(([x, y], i) => `${i ? "L" : "M"}${n(x)} ${n(y)}`).join("");
        const dashes = dash?.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
        out.push(`<path d="${path}" fill="${fill ?? "none"}" stroke="${stroke}" stroke-width="${wide}"${dashes} stroke-linejoin="round"/>`);
      },
      text: (x, y, text, { anchor = "start", size = SIZE, fill = INK, turned = false, bold = false, halo = false } = {}) => {
        const turn = turned ? ` transform="rotate(-90 ${n(x)} ${n(y)})"` : "";
        out.push(`<text x="${n(x)}" y="${n(y)}" font-size="${size}" text-anchor="${anchor}" fill="${fill}"${bold ? ' font-weight="bold"' : ""}${halo ? ' stroke="#ffffff" stroke-width="3" paint-order="stroke"' : ""}${turn}>${escape(text)}</text>`);
      },
      clip: (x, y, w, h, draw) => {
        const id = `clip${++clips}`;
        out.push(`<clipPath id="${id}"><rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}"/></clipPath><g clip-path="url${"("}#${id})">`);
        draw();
        out.push("</g>");
      },
      end: () => out.join("\n") + "\n</svg>\n",
    };
  }
  function canvasPen(width, height) {
    const canvas = document.createElement("canvas");
    canvas.width = width * SCALE;
    canvas.height = height * SCALE;
    const ctx = canvas.getContext("2d");
    ctx.scale(SCALE, SCALE);
    return { ...penOf(ctx, FONT, "#ffffff"), end: () => canvas };
  }
  // Strokes on a canvas; the halo of text has the colour of the paper.
  function penOf(ctx, font, paper) {
    ctx.lineJoin = "round";
    return {
      rect: (x, y, w, h, fill) => { ctx.fillStyle = fill; ctx.fillRect(x, y, w, h); },
      line: (points, stroke, wide, dash, fill) => {
        ctx.strokeStyle = stroke;
        ctx.lineWidth = wide;
        ctx.setLineDash(dash ?? []);
        ctx.beginPath();
        points.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
        if (fill) { ctx.fillStyle = fill; ctx.fill(); }
        ctx.stroke();
      },
      text: (x, y, text, { anchor = "start", size = SIZE, fill = INK, turned = false, bold = false, halo = false } = {}) => {
        ctx.save();
        ctx.translate(x, y);
        if (turned) ctx.rotate(-Math.PI / 2);
        ctx.font = `${bold ? "bold " : ""}${size}px ${font}`;
        ctx.textAlign = anchor === "middle" ? "center" : anchor;
        ctx.setLineDash([]);
        [ctx.strokeStyle, ctx.lineWidth] = [paper, 3];
        if (halo) ctx.strokeText(text, 0, 0);
        ctx.fillStyle = fill;
        ctx.fillText(text, 0, 0);
        ctx.restore();
      },
      clip: (x, y, w, h, draw) => {
        ctx.save();
        ctx.beginPath();
        ctx.rect(x, y, w, h);
        ctx.clip();
        draw();
        ctx.restore();
      },
    };
  }

  // Markers by name: strokes in units of the radius, the only one filled or all open.
  const MARKERS = new Map();
  const setMarkers = (markers) => markers.forEach((marker) => MARKERS.set(marker.name, marker));
  const markerOf = (name) => MARKERS.get(name) ?? MARKERS.get("circle");
  function marker(pen, name, [x, y], radius, colour) {
    const { open, strokes } = markerOf(name);
    for (const stroke of strokes) {
      const points = stroke.map(([dx, dy]) => [x + dx * radius, y + dy * radius]);
      if (open) pen.line(points, colour, 1.8);
      else pen.line(points, colour, 0.5, [], colour);
    }
  }
  // The points of a distribution that have a marker: a dozen of them.
  function marked(points) {
    const every = Math.ceil(points / 12), out = [];
    for (let i = every - 1; i < points; i += every) out.push(i);
    return out;
  }

  // Steps of 1, 2 or 5 times a power of ten.
  function ticks(from, to, most) {
    const raw = (to - from) / most;
    const decade = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((k) => k * decade).find((s) => s >= raw);
    const out = [];
    for (let i = Math.ceil(from / step - 1e-9); i * step <= to * (1 + 1e-12); i++) out.push(+(i * step).toPrecision(12));
    return out;
  }
  function logTicks(from, to) {
    const out = [];
    for (let d = Math.floor(Math.log10(from)); d <= Math.log10(to); d++) {
      for (const k of [1, 2, 5]) if (k * 10 ** d >= from && k * 10 ** d <= to) out.push(+(k * 10 ** d).toPrecision(6));
    }
    return out;
  }
  // Points at and around the part that is seen: what is far outside must not make the file large.
  function seen(line, { from, to }) {
    const { xs, ys } = line;
    let first = 0, last = xs.length - 1;
    while (first < last && xs[first + 1] < from) first++;
    while (last > first && xs[last - 1] > to) last--;
    const points = [];
    for (let i = first; i <= last; i++) {
      if (ys[i] == null) continue;
      if (line.stepped && points.length) points.push([xs[i], points[points.length - 1][1]]);
      points.push([xs[i], ys[i]]);
    }
    return points;
  }
  // Entries of the legend in rows: thresholds that are drawn have their names beside them.
  function legend(plot) {
    const shown = plot.lines.filter((line) => !line.rest && !line.faint);
    const rest = plot.lines.filter((line) => line.rest).length;
    const entries = shown.map((line) => ({ ...line, text: line.label }));
    if (rest > 0) entries.push({ colour: plot.lines.find((line) => line.rest).colour, width: 1, text: `${rest} more` });
    for (const mark of plot.marks.filter((mark) => mark.above)) {
      entries.push({ colour: null, text: `${mark.text}: above the axis` });
    }
    return entriesInRows(entries, 34);
  }
  function paper(pen, height, title) {
    pen.rect(0, 0, WIDTH, height, "#ffffff");
    let size = SIZE + 1;
    // Bold text is about 8 % wider than measured.
    while (size > 9 && widthOf(title, size) * 1.08 > WIDTH - 24) size -= 0.5;
    pen.text(12, 24, title, { size, bold: true });
  }

  // A chart: a row for each flow, link or protocol.
  const BAR = 10;
  function shorten(text, most) {
    let kept = text;
    while (kept.length > 1 && widthOf(kept, SIZE) > most) kept = kept.slice(0, -2) + "…";
    return kept;
  }
  function chartLegend({ series, rows }) {
    const own = series.filter((of) => of.colour && of.mark !== "tick");
    const entries = own.map((of) => ({ ...of, text: of.label }));
    const ticks = series.filter((of) => of.mark === "tick");
    if (ticks.length > 0 && ticks[0].colour) entries.push({ mark: "tick", colour: SOFT, text: "reference" });
    else if (ticks.length > 0) {
      const { colour, marker } = rows[0];
      entries.push({ mark: "point", colour, marker, text: series[0].label });
      entries.push({ mark: "tick", colour, text: ticks.map((of) => of.label).join(", ") });
    }
    return entriesInRows(entries, 30);
  }
  function entriesInRows(entries, gap) {
    const rows = [[]];
    let at = 0;
    for (const entry of entries) {
      const wide = widthOf(entry.text, SIZE) + (entry.colour ? gap : 0) + 16;
      if (at > 0 && at + wide > WIDTH - LEFT - RIGHT) { rows.push([]); at = 0; }
      rows[rows.length - 1].push([at, entry]);
      at += wide;
    }
    return rows;
  }
  function drawMark(pen, { mark, colour, marker: shape }, [x, y], zero) {
    if (mark === "bar") pen.rect(zero, y - BAR / 2, Math.max(x - zero, 0.5), BAR, colour);
    else if (mark === "tick") pen.line([[x, y - 9], [x, y + 9]], colour, 2);
    else marker(pen, shape, [x, y], 5.5, colour);
  }
  function drawRow(pen, { series, text }, row, top, place) {
    const bars = series.filter((of) => of.mark === "bar");
    if (bars.length > 0) {
      bars.forEach((of, i) => {
        const value = row.values[i];
        if (value == null) return;
        const at = [place(value), top + 6 + (i + 0.5) * (BAR + 2)];
        drawMark(pen, of, at, place(0));
        pen.text(at[0] + 5, at[1] + 4, text(value), { size: 11, fill: SOFT, halo: true });
      });
      return;
    }
    const middle = top + 14;
    const ticks = row.values.filter((value, i) => value != null && series[i].mark === "tick");
    if (row.colour && ticks.length > 1) {
      pen.line([Math.min(...ticks), Math.max(...ticks)].map((v) => [place(v), middle]), row.colour, 2);
    }
    // Markers over lines.
    for (const kind of ["tick", "point"]) {
      row.values.forEach((value, i) => {
        if (value == null || series[i].mark !== kind) return;
        const { colour, marker } = series[i].colour ? series[i] : row;
        drawMark(pen, { mark: kind, colour, marker }, [place(value), middle]);
      });
    }
  }
  function paintChart({ title, chart }, makePen) {
    const { series, rows, log, from, to, scale, prefix, unit } = chart;
    const bars = series.filter((of) => of.mark === "bar").length;
    const step = bars > 0 ? bars * (BAR + 2) + 12 : 28;
    const names = rows.map((row) => shorten(`${row.label} ${row.more}`.trim(), 230));
    const left = Math.max(...names.map((name) => widthOf(name, SIZE))) + 26;
    const right = WIDTH - (bars > 0 ? 56 : 30), bottom = TOP + rows.length * step;
    const legend = chartLegend(chart);
    const height = bottom + BELOW + legend.length * ROW + 8;
    const pen = makePen(WIDTH, height, title);
    const share = log ? (v) => Math.log(v / from) / Math.log(to / from) : (v) => v / to;
    const place = (value) => left + share(value) * (right - left);
    paper(pen, height, title);
    const marked = log ? logTicks(from / scale, to / scale) : ticks(0, to / scale, 5);
    for (const v of marked) {
      const at = place(v * scale);
      pen.line([[at, TOP], [at, bottom]], GRID, 0.75);
      pen.text(at, bottom + 19, String(v), { anchor: "middle" });
    }
    pen.line([[left, TOP], [right, TOP], [right, bottom], [left, bottom], [left, TOP]], INK, 1);
    rows.forEach((row, i) => {
      const top = TOP + i * step;
      pen.text(left - 10, top + step / 2 + 5, names[i], { anchor: "end" });
      drawRow(pen, { series, text: (value) => (value / scale).toFixed(1) }, row, top, place);
    });
    const label = `${chart.quantity} (${prefix}${unit})`;
    pen.text((left + right) / 2, bottom + 41, label, { anchor: "middle" });
    legend.forEach((row, i) => row.forEach(([at, entry]) => {
      const from = LEFT + at, middle = bottom + BELOW + (i + 0.5) * ROW;
      if (entry.mark === "bar") pen.rect(from, middle - BAR / 2, 22, BAR, entry.colour);
      else drawMark(pen, entry, [from + 14, middle]);
      pen.text(from + 28, middle + 5, entry.text);
    }));
    return pen.end();
  }
  // A row for each row, a column for each series; in basic units.
  function csvOfChart({ series, rows, row: head, unit }) {
    const more = rows.some((row) => row.more !== "");
    const heads = [head, ...(more ? ["of"] : []), ...series.map((of) => `${of.label} (${unit})`)];
    const line = ({ label, more: words, values }) => [
      label, ...(more ? [words] : []),
      ...values.map((value) => (value == null ? "" : String(+value.toPrecision(12)))),
    ];
    return [heads, ...rows.map(line)].map((cells) => cells.map(cell).join(",")).join("\n") + "\n";
  }

  // A row for each point, in basic units.
  function csvOfScatter({ quantity, groups }) {
    const heads = ["of", "flow", "seed", `${quantity} (s)`, "throughput (bit/s)"];
    const digits = (value) => String(+value.toPrecision(12));
    const rows = groups.flatMap(({ label, points }) =>
      points.map(({ delay_s, bps, flow, seed }) => [label, flow == null ? "all" : String(flow), seed, digits(delay_s), digits(bps)]));
    return [heads, ...rows].map((cells) => cells.map(cell).join(",")).join("\n") + "\n";
  }

  // What stands behind and over the lines of a plot over time, on the page and in a file. A frame
  // is what the axes enclose: { left, right, top, bottom }, the ends `from` and `to` of its
  // horizontal axis, the places `x` and `y` of values, and { size, font, fill } of its text.
  function paintBands(pen, bands, { left, right, top, bottom, x, size, font, fill }) {
    for (const band of bands) {
      const from = Math.max(x(band.from), left), until = Math.min(x(band.to), right);
      if (until <= from) continue;
      pen.rect(from, top, Math.max(until - from, 1), bottom - top, band.colour);
      if (until - from > widthOf(band.name, size, font) + 8) pen.text(from + 4, top + size + 2, band.name, { size, fill });
    }
  }
  // Thresholds are steps, and the last value of each holds until the end. Of two names that would
  // cover each other the first is written.
  function paintMarks(pen, marks, { left, right, top, bottom, from, to, x, y, size, fill }) {
    const dash = [size / 2, Math.round(size / 3)];
    pen.clip(left, top, right - left, bottom - top, () => {
      for (const mark of marks) {
        const points = seen({ ...mark, stepped: true }, { from, to });
        points.push([to, points[points.length - 1][1]]);
        pen.line(points.map(([v, w]) => [x(v), y(w)]), fill, size / 10, dash);
      }
    });
    let before = -Infinity;
    for (const { text, ys } of marks) {
      const at = y(ys[ys.length - 1]);
      const over = at < top + size + 3 ? at + size + 2 : at - 5;
      if (Math.abs(over - before) < size + 1) continue;
      before = over;
      pen.text(right - 4, over, text, { anchor: "end", size, fill, halo: true });
    }
  }
  // What the axis cuts off, where it is.
  function paintClips(pen, clips, { right, top, x, size, font }) {
    const taken = [], gap = size * 0.4;
    for (const { x: at, text, colour } of clips) {
      const wide = widthOf(text, size, font);
      const left = x(at) + gap + wide < right ? x(at) + gap : x(at) - gap - wide;
      let row = 0;
      while (taken.some((other) => other.row === row && other.left < left + wide + gap && left < other.left + other.wide + gap)) row++;
      taken.push({ row, left, wide });
      pen.text(left, top + (size + 1) * (row + 1), text, { size, fill: colour, halo: true });
    }
  }

  function paint(plot, makePen) {
    if (plot.chart) return paintChart(plot, makePen);
    const rows = legend(plot);
    const height = TOP + PLOT + BELOW + rows.length * ROW + 8;
    const right = WIDTH - RIGHT, bottom = TOP + PLOT;
    const pen = makePen(WIDTH, height, plot.title);
    const { x, y } = plot;
    const along = x.log ? (v) => Math.log(v / x.from) / Math.log(x.to / x.from) : (v) => (v - x.from) / (x.to - x.from);
    const share = x.reversed ? (v) => 1 - along(v) : along;
    const place = ([v, w]) => [LEFT + share(v) * (right - LEFT), bottom - (w - y.from) / (y.to - y.from) * PLOT];
    paper(pen, height, plot.title);
    const frame = {
      left: LEFT, right, top: TOP, bottom, from: x.from, to: x.to, size: 12, fill: SOFT,
      x: (v) => place([v, 0])[0], y: (w) => place([x.from, w])[1],
    };
    paintBands(pen, plot.bands ?? [], frame);
    // A scatter is in basic units, other plots in those of their axes.
    const [xs, ys] = plot.scatter ? [x.scale, y.scale] : [1, 1];
    for (const v of ticks(y.from / ys, y.to / ys, 6)) {
      const [, at] = place([x.from, v * ys]);
      pen.line([[LEFT, at], [right, at]], GRID, 0.75);
      pen.text(LEFT - 7, at + 5, String(v), { anchor: "end" });
    }
    for (const v of x.log ? logTicks(x.from / xs, x.to / xs) : ticks(x.from / xs, x.to / xs, 8)) {
      const [at] = place([v * xs, 0]);
      pen.line([[at, TOP], [at, bottom]], GRID, 0.75);
      pen.text(at, bottom + 19, String(v), { anchor: "middle" });
    }
    pen.clip(LEFT, TOP, right - LEFT, PLOT, () => {
      for (const line of plot.lines) {
        const points = (plot.scatter ? line.xs.map((v, i) => [v, line.ys[i]]) : seen(line, x)).map(place);
        if (line.area && points.length > 0) {
          pen.line([...points, [points[points.length - 1][0], bottom], [points[0][0], bottom]], line.colour, 0.1, [], line.colour);
        } else pen.line(points, line.colour, line.rest || line.faint ? 0.8 : 1.8, line.dash);
        // The first and the last point are the ends of the axis.
        if (line.marker && line.stepped) {
          for (const i of marked(line.xs.length - 2)) marker(pen, line.marker, place([line.xs[i + 1], line.ys[i + 1]]), 4.5, line.colour);
        }
      }
      for (const { points, centre, colour, marker: shape } of plot.scatter?.groups ?? []) {
        for (const { delay_s, bps } of points) marker(pen, shape, place([delay_s, bps]), 3, colour);
        if (points.length > 1) marker(pen, shape, place(centre), 6, colour);
      }
    });
    paintMarks(pen, plot.marks.filter((mark) => !mark.above), frame);
    paintClips(pen, plot.clips ?? [], frame);
    pen.line([[LEFT, TOP], [right, TOP], [right, bottom], [LEFT, bottom], [LEFT, TOP]], INK, 1);
    pen.text((LEFT + right) / 2, bottom + 41, x.label, { anchor: "middle" });
    pen.text(20, TOP + PLOT / 2, y.label, { anchor: "middle", turned: true });
    rows.forEach((row, i) => row.forEach(([at, entry]) => {
      const from = LEFT + at, middle = bottom + BELOW + (i + 0.5) * ROW;
      if (entry.marker && plot.scatter) marker(pen, entry.marker, [from + 13, middle], 5.5, entry.colour);
      else if (entry.area) pen.rect(from, middle - 5, 26, 10, entry.colour);
      else if (entry.colour) {
        pen.line([[from, middle], [from + 26, middle]], entry.colour, 2.2, entry.dash);
        if (entry.marker) marker(pen, entry.marker, [from + 13, middle], 4.5, entry.colour);
      }
      pen.text(from + (entry.colour ? 32 : 0), middle + 5, entry.text);
    }));
    return pen.end();
  }
  const svg = (plot) => new Blob([paint(plot, svgPen)], { type: "image/svg+xml" });
  const png = (plot) => new Promise((done) => paint(plot, canvasPen).toBlob(done, "image/png"));

  // A column for each line and threshold; a row for each time at which any has a sample. In basic
  // units.
  const cell = (text) => (/[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  function csv(plot) {
    if (plot.chart) return new Blob([csvOfChart(plot.chart)], { type: "text/csv" });
    if (plot.scatter) return new Blob([csvOfScatter(plot.scatter)], { type: "text/csv" });
    const columns = plot.lines.concat(plot.marks);
    const rows = new Map();
    const inside = (v) => v >= plot.x.from - 1e-9 && v <= plot.x.to + 1e-9;
    plot.lines.forEach((line, c) => line.xs.forEach((v, i) => {
      if (line.ys[i] == null || !inside(v)) return;
      if (!rows.has(v)) rows.set(v, new Array(columns.length).fill(""));
      rows.get(v)[c] = line.ys[i];
    }));
    const times = [...rows.keys()].sort((a, b) => a - b);
    // Of equal samples in a row the page holds the first and the last.
    plot.lines.forEach((_, c) => {
      let before = null;
      times.forEach((v, i) => {
        const value = rows.get(v)[c];
        if (value === "") return;
        for (let k = before?.at + 1; before?.value === value && k < i; k++) rows.get(times[k])[c] = value;
        before = { at: i, value };
      });
    });
    plot.marks.forEach((mark, m) => {
      let at = 0;
      for (const v of times) {
        while (at + 1 < mark.xs.length && mark.xs[at + 1] <= v) at++;
        rows.get(v)[plot.lines.length + m] = mark.ys[at];
      }
    });
    const digits = (value, scale) => (value === "" ? "" : String(+(value * scale).toPrecision(12)));
    const unit = plot.y.unit ? ` (${plot.y.unit})` : "";
    const head = [plot.x.column, ...columns.map((column) => column.label + unit)].map(cell).join(",");
    const body = times.map((v) => [digits(v, plot.x.scale), ...rows.get(v).map((value) => digits(value, plot.y.scale))].join(","));
    return new Blob([[head, ...body].join("\n") + "\n"], { type: "text/csv" });
  }

  async function save(plot, kind) {
    const blob = kind === "csv" ? csv(plot) : kind === "svg" ? svg(plot) : await png(plot);
    const url = URL.createObjectURL(blob);
    const link = document.createElement("a");
    link.download = `${plot.file}.${kind}`;
    link.setAttribute("href", url);
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  }
  return { save, setMarkers, markerOf, marked, penOf, paintBands, paintMarks, paintClips };
})();
