//! Rows of comma-separated files, each cell with its place.
//!
//! The first line names the columns; their order is free. A column that is not known is a mistake,
//! unless `extra_columns = "ignore"` stands where the file is named: then a note says so. A cell in
//! double quotes may hold commas, and `""` for a quote (RFC 4180), but no end of line. A line that
//! begins with `#` is a comment. Numbers may be written as in a scenario: `1e7`, `10_000`, or with
//! a unit, `10Mbit/s`.

use crate::format::fault::{Fault, Problem, nearest};
use crate::format::faults::note;
use crate::format::fields::{Field, Spanned, choices};
use crate::format::input;
use crate::format::item::{Item, Value};
use crate::format::source::{Loc, Sources};
use crate::format::units::{Bytes, MAX_DELAY};
use forebay_base::units::MAX_SPAN;
use forebay_base::{Rate, Span};
use std::borrow::Cow;

/// A column of a CSV file that a scenario may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsvColumn {
    /// The key of the scenario that names the file: `csv.links`, `csv.hosts`, `csv.flows`; of a
    /// link `schedule`.
    pub file: &'static str,
    /// Its name in the first line.
    pub name: &'static str,
    /// What it holds, with unit.
    pub meaning: &'static str,
}

macro_rules! columns {
    ($($list:ident of $file:literal { $($name:literal: $meaning:literal,)* })*) => {
        $( pub(crate) const $list: &[&str] = &[$($name),*]; )*
        /// The columns of all CSV files, in the order of the files.
        pub const CSV_COLUMNS: &[CsvColumn] =
            &[$($(CsvColumn { file: $file, name: $name, meaning: $meaning },)*)*];
    };
}

columns! {
    LINK_COLUMNS of "csv.links" {
        "a": "one end, a router; csv.router_prefix is put before it",
        "b": "the other end",
        "rate_bps": "rate in bit/s, or with unit: 10000000, 1e7, 10Mbit/s",
        "delay_ns": "propagation delay in nanoseconds, or with unit: 5000000, 5ms",
        "weight": "may be empty: cost of the link in routes, 1 to 65535; by default 1",
    }
    HOST_COLUMNS of "csv.hosts" {
        "host": "name of the host; csv.host_prefix (h) is put before it",
        "router": "router at the other end of its access link; one row for each router of a host",
        "rate_bps": "may be empty: rate of this access link; by default that of csv.access",
        "delay_ns": "may be empty: its propagation delay; by default that of csv.access",
    }
    FLOW_COLUMNS of "csv.flows" {
        "start_s": "start in seconds, or with unit: 1.5, 1500ms",
        "src_host": "host that sends; csv.host_prefix (h) is put before it",
        "dst_host": "host that receives, the same way",
        "src": "in place of src_host: the full name of the host",
        "dst": "in place of dst_host: the full name of the host",
        "packets": "full-sized packets to send, 1 to 4294967295",
        "bytes": "in place of packets: bytes, or with unit: 100000, 1e5, 100kB",
        "stop_s": "may be empty: when the application writes no more, in seconds, or with unit",
        "rate_bps": "may be empty: rate at which it writes, in bit/s, or with unit: 1e6, 1Mbit/s",
        "after": "in place of start_s: row (from 1 on) of an earlier flow of src, which it follows",
        "think_s": "may be empty: time from that end to the start, in seconds, or with unit",
        "class": "class of the flow in results; an empty cell: its protocol",
    }
    SCHEDULE_COLUMNS of "schedule" {
        "at_s": "when, in seconds, or with unit: 1.5, 1500ms",
        "rate_bps": "may be empty: new rate in bit/s, or with unit",
        "delay_ns": "may be empty: new propagation delay in nanoseconds, or with unit",
        "loss": "may be empty: new loss probability, 0.0 to 1.0",
    }
}

choices! {
    /// Treatment of unknown columns.
    #[derive(Default)]
    pub(crate) enum ExtraColumns {
        /// They are mistakes.
        #[default]
        Refuse = "refuse",
        /// They are not used, which a note says.
        Ignore = "ignore",
    }
}

/// Place of the column in [`LINK_COLUMNS`].
pub(crate) const WEIGHT: usize = 4;
/// Places of some columns in [`HOST_COLUMNS`].
pub(crate) const ROUTER: usize = 1;
pub(crate) const ACCESS_RATE: usize = 2;
pub(crate) const ACCESS_DELAY: usize = 3;
/// Places of some columns in [`FLOW_COLUMNS`].
pub(crate) const START: usize = 0;
pub(crate) const STOP: usize = 7;
pub(crate) const RATE: usize = 8;
pub(crate) const AFTER: usize = 9;
pub(crate) const THINK: usize = 10;
pub(crate) const CLASS: usize = 11;

/// A file of rows, its columns put into the order that was asked for.
pub(crate) struct Csv {
    source: u32,
    /// For each column asked for, its index in the file; None if the file has it not.
    order: Vec<Option<usize>>,
    columns: Vec<&'static str>,
    /// Names and places of the columns of the file.
    header: Vec<(String, Loc)>,
    extra: ExtraColumns,
    /// Where the first row begins.
    rows_at: usize,
}

/// A row of a [`Csv`].
pub(crate) struct Row<'a> {
    csv: &'a Csv,
    /// In the order of the file.
    cells: Vec<Cell<'a>>,
}

struct Cell<'a> {
    start: usize,
    end: usize,
    text: Cow<'a, str>,
}

/// Read the file that a key names, with what becomes of columns other than `columns`.
pub(crate) fn open(
    sources: &mut Sources,
    path: &Spanned<String>,
    columns: &[&'static str],
    extra: Option<&Spanned<ExtraColumns>>,
) -> Result<Csv, Fault> {
    let shown = sources.files.path(&path.value).display().to_string();
    let text = sources.files.open(&path.value).and_then(input::text_of).map_err(|error| {
        let hint = format!("give the file with --set {}=PATH", path.set_path());
        let why = input::reason(&error);
        path.fault(Problem::File { path: shown.clone(), why }).hint(hint)
    })?;
    let source = sources.add(&shown, text);
    let (line, rows_at) = first_line(sources.text(source));
    let head = &sources.text(source)[line..rows_at];
    // Spreadsheets put a byte order mark before the first name.
    let marked = head.trim_end_matches(['\n', '\r']).trim_start_matches('\u{feff}');
    let at = line + head.find(marked).unwrap_or(0);
    if marked.trim().is_empty() {
        let empty = sources.text(source).trim_matches(['\u{feff}', '\n', '\r', ' ']).is_empty();
        let what = if empty { "the file is empty" } else { "the first line is empty" };
        let text = format!("{what}: expected the names of columns ({})", columns.join(", "));
        return Err(Fault::at(Loc { source, start: 0, end: 0 }, "", Problem::Csv(text)));
    }
    let mut order = vec![None; columns.len()];
    let cells = split(marked, at, source)?;
    let loc = |cell: &Cell<'_>| Loc { source, start: cell.start as u32, end: cell.end as u32 };
    let header: Vec<_> = cells.iter().map(|cell| (cell.text.to_string(), loc(cell))).collect();
    for (i, (name, loc)) in header.iter().enumerate() {
        let Some(place) = columns.iter().position(|c| c == name) else { continue };
        if order[place].replace(i).is_some() {
            let problem = Problem::Duplicate { kind: "column", name: name.clone() };
            return Err(Fault::at(*loc, "", problem));
        }
    }
    let extra = extra.map_or_else(ExtraColumns::default, |at| at.value);
    let csv = Csv { source, order, columns: columns.to_vec(), header, extra, rows_at };
    let others: Vec<String> = csv.unused().map(|(name, _)| format!("`{name}`")).collect();
    if !others.is_empty() && extra == ExtraColumns::Ignore {
        let plural = if others.len() > 1 { "s" } else { "" };
        sources.note(format!("{shown}: column{plural} not used: {}", others.join(", ")));
    }
    Ok(csv)
}

/// Where the first line begins that is no comment, and where the next begins.
fn first_line(text: &str) -> (usize, usize) {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if !is_comment(line.trim_start_matches('\u{feff}')) {
            return (start, start + line.len());
        }
        start += line.len();
    }
    (text.len(), text.len())
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

impl Csv {
    /// True if the file has the column at this place in the order asked for.
    pub fn has(&self, column: usize) -> bool {
        self.order[column].is_some()
    }
    /// The columns of the file that are not used.
    fn unused(&self) -> impl Iterator<Item = &(String, Loc)> {
        self.header.iter().filter(|(name, _)| !self.columns.contains(&name.as_str()))
    }
    /// The fault of a file with two columns of which one says all.
    pub fn not_both(&self, one: usize, other: usize) -> Result<(), Fault> {
        let (Some(a), Some(b)) = (self.order[one], self.order[other]) else { return Ok(()) };
        let [one, other] = [self.columns[one], self.columns[other]];
        let text = format!("only one of the columns `{one}` and `{other}` may be there");
        Err(Fault::at(self.header[a.max(b)].1, "", Problem::Csv(text)))
    }
    /// The fault of a file without columns that it needs, or with columns that are not known: at
    /// those that are misspelled, else of all that are missing.
    pub fn need(&self, columns: &[usize]) -> Result<(), Fault> {
        let missing: Vec<&str> =
            columns.iter().filter(|&&c| !self.has(c)).map(|&c| self.columns[c]).collect();
        let absent = (0..self.columns.len()).filter(|&column| !self.has(column));
        let absent: Vec<&str> = absent.map(|column| self.columns[column]).collect();
        let near = |name| nearest(name, &missing).or_else(|| nearest(name, &absent));
        let mut fault = None;
        for (name, loc) in self.unused() {
            let near = near(name);
            // Where a column is missing, one that is like none of them is not its cause.
            let wrong = if missing.is_empty() {
                self.extra == ExtraColumns::Refuse
            } else {
                near.is_some()
            };
            if !wrong {
                continue;
            }
            let problem = Problem::UnknownName { kind: "column", name: name.clone() };
            let hint = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let columns = self.columns.join(", ");
                    format!("columns: {columns}; extra_columns = \"ignore\" passes over others")
                }
            };
            note(&mut fault, Fault::at(*loc, "", problem).hint(hint));
        }
        if let Some(fault) = fault {
            return Err(fault);
        }
        if missing.is_empty() {
            return Ok(());
        }
        let plural = if missing.len() > 1 { ("s", "are") } else { ("", "is") };
        let list = missing.join("`, `");
        let text = format!("the column{} `{list}` {} missing", plural.0, plural.1);
        let loc =
            self.header.first().map_or(crate::format::item::whole(self.source), |(_, loc)| *loc);
        let fault = Fault::at(Loc { end: loc.start, ..loc }, "", Problem::Csv(text));
        Err(fault.hint(format!("columns: {}", self.columns.join(", "))))
    }
    /// The rows; empty lines and comments are passed over.
    pub fn rows<'a>(
        &'a self,
        sources: &'a Sources,
    ) -> impl Iterator<Item = Result<Row<'a>, Fault>> {
        let mut start = self.rows_at;
        let lines = sources.text(self.source)[start..].split_inclusive('\n').map(move |line| {
            let at = start;
            start += line.len();
            (at, line.trim_end_matches(['\n', '\r']))
        });
        let data = lines.filter(|(_, line)| !line.trim().is_empty() && !is_comment(line));
        data.map(|(at, line)| {
            let cells = split(line, at, self.source)?;
            if cells.len() == self.header.len() {
                return Ok(Row { csv: self, cells });
            }
            let text = format!("expected {} columns, found {}", self.header.len(), cells.len());
            let end = (at + line.len()) as u32;
            let loc = Loc { source: self.source, start: at as u32, end };
            Err(Fault::at(loc, "", Problem::Csv(text)))
        })
    }
}

impl Row<'_> {
    /// True if the file has this column, and the row something in it.
    pub fn has(&self, column: usize) -> bool {
        self.csv.has(column) && !self.text(column).is_empty()
    }
    /// True if the file has this column, and the row nothing in it.
    pub fn lacks(&self, column: usize) -> bool {
        self.csv.has(column) && self.text(column).is_empty()
    }
    fn cell(&self, column: usize) -> &Cell<'_> {
        &self.cells[self.csv.order[column].expect("the column was needed")]
    }
    /// The text of a cell. Panics if the file has not this column.
    pub fn text(&self, column: usize) -> &str {
        &self.cell(column).text
    }
    /// Where a cell stands.
    pub fn loc(&self, column: usize) -> Loc {
        let cell = self.cell(column);
        Loc { source: self.csv.source, start: cell.start as u32, end: cell.end as u32 }
    }
    /// A problem with a cell.
    pub fn fault(&self, column: usize, problem: Problem) -> Fault {
        Fault::at(self.loc(column), self.csv.columns[column], problem)
    }
    /// The fault of a cell that does not hold what is expected.
    pub fn wrong(&self, column: usize, expected: &str) -> Fault {
        let found = format!("`{}`", self.text(column));
        self.fault(column, Problem::WrongType { expected: expected.into(), found })
    }

    /// A rate: a number of bit/s, or one with unit.
    pub fn rate(&self, column: usize) -> Result<Rate, Fault> {
        match self.whole(column) {
            None => self.with_unit(column, "a number of bit/s"),
            Some(bps) => bps
                .and_then(Rate::new)
                .ok_or_else(|| self.wrong(column, "1000 to 400000000000 bit/s")),
        }
    }
    /// A propagation delay: a number of nanoseconds, or a time with unit.
    pub fn delay(&self, column: usize) -> Result<Span, Fault> {
        let delay = match self.whole(column) {
            None => Some(self.with_unit(column, "a number of nanoseconds")?),
            Some(ns) => ns.map(Span::from_nanos),
        };
        let delay = delay.filter(|&delay| delay <= MAX_DELAY);
        delay.ok_or_else(|| self.wrong(column, "at most 1000000000000 ns (1000 s)"))
    }
    /// A time: a number of seconds, or one with unit.
    pub fn seconds(&self, column: usize) -> Result<Span, Fault> {
        let Ok(seconds) = self.text(column).parse::<f64>() else {
            return self.with_unit(column, "a number of seconds");
        };
        let inside = (0.0..=MAX_SPAN.as_secs_f64()).contains(&seconds);
        let span = inside.then(|| Span::from_secs_f64(seconds));
        span.ok_or_else(|| self.wrong(column, "0 s to 100 years"))
    }
    /// A probability.
    pub fn probability(&self, column: usize) -> Result<f64, Fault> {
        let number = self.text(column).parse::<f64>().ok();
        let number = number.filter(|p| (0.0..=1.0).contains(p));
        number.ok_or_else(|| self.wrong(column, "a probability from 0.0 to 1.0"))
    }
    /// A number of packets, 1 to 2^32 - 1.
    pub fn packets(&self, column: usize) -> Result<u64, Fault> {
        let packets =
            self.whole(column).ok_or_else(|| self.wrong(column, "a number of packets"))?;
        let packets = packets.filter(|packets| (1..=u64::from(u32::MAX)).contains(packets));
        packets.ok_or_else(|| self.wrong(column, "1 to 4294967295 packets"))
    }
    /// The number of one of the first `rows` rows, 1 and more; as an index.
    pub fn earlier_row(&self, column: usize, rows: usize) -> Result<usize, Fault> {
        let number = self.whole(column).flatten().and_then(|n| usize::try_from(n).ok());
        let index = number.and_then(|number| number.checked_sub(1)).filter(|&index| index < rows);
        index.ok_or_else(|| self.wrong(column, "the number of an earlier row, from 1 on"))
    }
    /// A number of bytes, 1 or more, or a size with unit.
    pub fn bytes(&self, column: usize) -> Result<u64, Fault> {
        let bytes = match self.whole(column) {
            None => Some(self.with_unit::<Bytes>(column, "a number of bytes")?.0),
            Some(bytes) => bytes,
        };
        let bytes = bytes.filter(|&bytes| bytes >= 1);
        bytes.ok_or_else(|| self.wrong(column, "1 to 18446744073709551615 bytes"))
    }

    /// A whole number without unit, which may have an exponent (`1e7`) and underscores. None if the
    /// cell is no number; Some(None)
    /// if it is one that is negative, has a fraction, or is 2^64 or more.
    fn whole(&self, column: usize) -> Option<Option<u64>> {
        let text = self.text(column);
        if let Ok(number) = text.parse() {
            return Some(Some(number));
        }
        let text = text.replace('_', "");
        if let Ok(number) = text.parse() {
            return Some(Some(number));
        }
        let number: f64 = text.parse().ok().filter(|x: &f64| x.is_finite())?;
        // Above 2^53 a float is a whole number that need not be the one that was written.
        let fits = number >= 0.0 && number.fract() == 0.0 && number < 18_446_744_073_709_551_616.0;
        Some(fits.then_some(number as u64))
    }
    /// A value as the format has it, with unit.
    fn with_unit<T: Field>(&self, column: usize, plain: &str) -> Result<T, Fault> {
        let value = Value::String(self.text(column).to_string());
        let item = Item { value, loc: self.loc(column) };
        T::read(&item, self.csv.columns[column]).map_err(|mut fault| {
            if let Problem::WrongType { expected, .. } = fault.problem.as_mut() {
                *expected = format!("{plain} or {expected}");
            }
            fault
        })
    }
}

/// The cells of a line that begins at `at`.
fn split(line: &str, at: usize, source: u32) -> Result<Vec<Cell<'_>>, Fault> {
    let mut cells = Vec::new();
    let mut start = 0;
    loop {
        let rest = &line[start..];
        let blank = rest.len() - rest.trim_start().len();
        let cell = start + blank;
        if line[cell..].starts_with('"') {
            let (text, len) = quoted(&line[cell..]).ok_or_else(|| {
                let loc = Loc { source, start: (at + cell) as u32, end: (at + line.len()) as u32 };
                let text = "a cell that begins with a quote ends with one, then comes a comma or \
                            the end of the line";
                Fault::at(loc, "", Problem::Csv(text.into()))
            })?;
            cells.push(Cell { start: at + cell, end: at + cell + len, text });
            match line[cell + len..].find(',') {
                Some(comma) => start = cell + len + comma + 1,
                None => return Ok(cells),
            }
        } else {
            let comma = line[start..].find(',').map(|comma| start + comma);
            let text = line[start..comma.unwrap_or(line.len())].trim();
            let first = if text.is_empty() { start } else { cell };
            cells.push(Cell { start: at + first, end: at + first + text.len(), text: text.into() });
            match comma {
                Some(comma) => start = comma + 1,
                None => return Ok(cells),
            }
        }
    }
}

/// The text of a cell that begins with a quote, and its length with its quotes; None if it has no
/// end.
fn quoted(cell: &str) -> Option<(Cow<'_, str>, usize)> {
    let mut end = 1;
    loop {
        end += cell[end..].find('"')?;
        if !cell[end + 1..].starts_with('"') {
            break;
        }
        end += 2;
    }
    let behind = cell[end + 1..].trim_start();
    let text = if cell[1..end].contains('"') {
        Cow::Owned(cell[1..end].replace("\"\"", "\""))
    } else {
        Cow::Borrowed(&cell[1..end])
    };
    (behind.is_empty() || behind.starts_with(',')).then_some((text, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Option<Vec<String>> {
        let cells = split(line, 0, 0).ok()?;
        Some(cells.iter().map(|cell| cell.text.to_string()).collect())
    }

    /// The examples of RFC 4180 section 2, items 5 to 7, in one line.
    #[test]
    fn quoted_cells() {
        assert_eq!(texts(r#""aaa","bbb","ccc""#).unwrap(), ["aaa", "bbb", "ccc"]);
        assert_eq!(texts(r#""aaa","b,bb","ccc""#).unwrap(), ["aaa", "b,bb", "ccc"]);
        assert_eq!(texts(r#""aaa","b""bb","ccc""#).unwrap(), ["aaa", "b\"bb", "ccc"]);
        assert_eq!(texts(r#" a , "b" ,,c"#).unwrap(), ["a", "b", "", "c"]);
        assert_eq!(texts("\"\",").unwrap(), ["", ""]);
        assert_eq!(texts("a,\"b"), None);
        assert_eq!(texts("\"a\"b,c"), None);
        let cells = split("a, \"b\"\"c\" ,d", 100, 0).ok().unwrap();
        let places: Vec<_> = cells.iter().map(|cell| (cell.start, cell.end)).collect();
        assert_eq!(places, [(100, 101), (103, 109), (111, 112)]);
    }
}
