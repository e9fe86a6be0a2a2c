// What samples of lines say of their plot: how far its axis reaches, what is drawn of noise, whether
// lines cover each other. Samples are [times, values], in ascending order of time.
const forebayLines = (() => {
  "use strict";
  const highest = (values) => values.reduce((most, value) => (value > most ? value : most), 0);
  // One spike does not rule an axis. A line that is above this many times the highest level that it
  // keeps for 1 % of its time is cut off, if it has enough samples to say so; the axis then reaches
  // some way beyond that level, and what is cut off is written where it is. What is above the
  // capacity of a link, as when a hole is filled, is a spike up to 5 % of the time.
  const SPIKE = 2, BEYOND = 1.25, ENOUGH = 50, RARELY = 0.01, ABOVE_CAPACITY = 0.05;
  function reachOf([xs, ys], capacity = Infinity) {
    const most = highest(ys);
    if (ys.length < ENOUGH) return most;
    const last = xs.length - 1;
    const held = ys.map((y, i) => [y, (xs[Math.min(i + 1, last)] - xs[Math.max(i - 1, 0)]) / 2]).sort((a, b) => b[0] - a[0]);
    let left = (most > capacity ? ABOVE_CAPACITY : RARELY) * (xs[last] - xs[0]);
    const usual = held.find(([, time]) => (left -= time) < 0)?.[0] ?? most;
    return usual > 0 && most > SPIKE * usual ? BEYOND * usual : most;
  }
  // A centred mean over time of samples with straight lines between them.
  function smoothed([xs, ys], width) {
    const area = [0];
    for (let i = 1; i < xs.length; i++) area.push(area[i - 1] + (xs[i] - xs[i - 1]) * (ys[i] + ys[i - 1]) / 2);
    const last = xs.length - 1, [times, values] = [[], []];
    let [low, high] = [0, 0];
    const until = (t, from) => {
      let i = from;
      while (i < last && xs[i + 1] < t) i++;
      const step = Math.min(i + 1, last) - i ? (t - xs[i]) / (xs[i + 1] - xs[i]) : 0;
      return [i, area[i] + (step ? (t - xs[i]) * (ys[i] + (ys[i] + step * (ys[i + 1] - ys[i]))) / 2 : 0)];
    };
    const count = Math.max(2, Math.ceil((xs[last] - xs[0]) / width * 4));
    for (let k = 0; k <= count; k++) {
      const t = xs[0] + (xs[last] - xs[0]) * k / count;
      const [a, b] = [Math.max(xs[0], t - width / 2), Math.min(xs[last], t + width / 2)];
      let [before, after] = [0, 0];
      [low, before] = until(a, low);
      [high, after] = until(b, high);
      times.push(t);
      values.push(b > a ? (after - before) / (b - a) : ys[0]);
    }
    return [times, values];
  }
  // The width of that mean: 1, 2 or 5 times a power of ten, near a fiftieth of the run.
  function widthOfMean(end) {
    const decade = 10 ** Math.floor(Math.log10(end / 50));
    return [5, 2, 1].map((k) => k * decade).find((width) => width <= end / 50 * 1.01) ?? decade;
  }
  // True if lines cover each other: in the columns of a plot, the sum of what each covers is this
  // many times what they cover together, and that is much. A plot is so many pixels high.
  const OVERLAP = 1.7;
  function isCarpet(lines, most, end, height) {
    if (lines.length < 3 || !(most > 0)) return false;
    const columns = 200, thick = 1.5 / height;
    const spans = Array.from({ length: columns }, () => []);
    let each = 0;
    for (const { samples: [xs, ys] } of lines) {
      const own = new Array(columns);
      for (let i = 1; i < xs.length; i++) {
        const [first, last] = [xs[i - 1], xs[i]].map((x) => Math.min(columns - 1, Math.floor(x / end * columns)));
        for (let c = first; c <= last; c++) {
          const [low, high] = own[c] ?? [Infinity, -Infinity];
          own[c] = [Math.min(low, ys[i - 1], ys[i]), Math.max(high, ys[i - 1], ys[i])];
        }
      }
      own.forEach(([low, high], c) => {
        const span = [Math.min(low / most, 1), Math.min(high / most, 1) + thick];
        each += span[1] - span[0];
        spans[c].push(span);
      });
    }
    let together = 0;
    for (const column of spans) {
      let reached = -1;
      for (const [low, high] of column.sort((a, b) => a[0] - b[0])) {
        together += Math.max(0, high - Math.max(low, reached));
        reached = Math.max(reached, high);
      }
    }
    return each > OVERLAP * together && each / columns / lines.length > 6 / height;
  }

  return { highest, reachOf, smoothed, widthOfMean, isCarpet };
})();
