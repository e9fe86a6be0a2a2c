//! Rows of comma-separated files, each cell with its place.
//!
//! The first line names the columns; their order is free. No quoting: names in these files hold no comma.

use super::error::{Fault, Problem};
use super::fields::At;
use super::source::{Loc, Sources, read_text};
use std::path::Path;

/// A file of rows, its columns put into the order that was asked for.
pub(super) struct Csv {
    source: u32,
    /// For each column asked for, its index in the file; None if the file has it not.
    order: Vec<Option<usize>>,
    columns: Vec<&'static str>,
    /// Where the name of each column of the file stands.
    header: Vec<Loc>,
}

/// A row of a [`Csv`].
pub(super) struct Row<'a> {
    csv: &'a Csv,
    /// Start and text of each cell, in the order of the file.
    cells: Vec<(usize, &'a str)>,
}

/// Read the file that a key names, which must have no column beside `columns`.
pub(super) fn open(
    sources: &mut Sources,
    base: &Path,
    path: &At<String>,
    columns: &[&'static str],
) -> Result<Csv, Fault> {
    let full = base.join(&path.value);
    let text = read_text(&full).map_err(|fault| Fault {
        loc: Some(path.loc),
        key: path.key.clone(),
        hint: Some(format!("give the file with --set {}=PATH", path.key)),
        ..fault
    })?;
    let source = sources.add(full.display().to_string(), text);
    let header = sources.text(source).lines().next().unwrap_or_default();
    // Spreadsheets put a byte order mark before the first name.
    let marked = header.trim_start_matches('\u{feff}');
    let names: Vec<(usize, &str)> = split(marked, header.len() - marked.len());
    if marked.trim().is_empty() {
        let empty = sources.text(source).trim_matches(['\u{feff}', '\n', '\r', ' ']).is_empty();
        let what = if empty { "the file is empty" } else { "the first line is empty" };
        let text = format!("{what}: expected the names of columns ({})", columns.join(", "));
        return Err(Fault::at(Loc { source, start: 0, end: 0 }, "", Problem::Csv(text)));
    }
    let mut order = vec![None; columns.len()];
    let loc = |&(start, name): &(usize, &str)| {
        let end = (start + name.len()) as u32;
        Loc { source, start: start as u32, end }
    };
    let header: Vec<Loc> = names.iter().map(loc).collect();
    for (i, (&(_, name), &loc)) in names.iter().zip(&header).enumerate() {
        let fault = |problem| Fault::at(loc, "", problem);
        let Some(place) = columns.iter().position(|&c| c == name) else {
            let problem = Problem::UnknownName { kind: "column", name: name.to_string() };
            return Err(fault(problem).suggest(name, columns.iter().copied()));
        };
        if order[place].replace(i).is_some() {
            return Err(fault(Problem::Duplicate { kind: "column", name: name.to_string() }));
        }
    }
    Ok(Csv { source, order, columns: columns.to_vec(), header })
}

impl Csv {
    /// True if the file has the column at this place in the order asked for.
    pub fn has(&self, column: usize) -> bool {
        self.order[column].is_some()
    }
    /// The fault of a file with two columns of which one says all.
    pub fn not_both(&self, one: usize, other: usize) -> Result<(), Fault> {
        let (Some(a), Some(b)) = (self.order[one], self.order[other]) else { return Ok(()) };
        let [one, other] = [self.columns[one], self.columns[other]];
        let text = format!("only one of the columns `{one}` and `{other}` may be there");
        Err(Fault::at(self.header[a.max(b)], "", Problem::Csv(text)))
    }
    /// The fault of a file without a column that it needs.
    pub fn need(&self, column: usize) -> Result<(), Fault> {
        if self.has(column) {
            return Ok(());
        }
        let text = format!("the column `{}` is missing", self.columns[column]);
        let loc = Loc { source: self.source, start: 0, end: 0 };
        Err(Fault::at(loc, "", Problem::Csv(text)))
    }
    /// The rows; empty lines are passed over.
    pub fn rows<'a>(
        &'a self,
        sources: &'a Sources,
    ) -> impl Iterator<Item = Result<Row<'a>, Fault>> {
        let mut start = 0;
        let lines = sources.text(self.source).split_inclusive('\n').map(move |line| {
            let at = start;
            start += line.len();
            (at, line.trim_end_matches(['\n', '\r']))
        });
        lines.skip(1).filter(|(_, line)| !line.trim().is_empty()).map(|(at, line)| {
            let cells = split(line, at);
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

impl<'a> Row<'a> {
    /// True if the file has this column.
    pub fn has(&self, column: usize) -> bool {
        self.csv.has(column)
    }
    /// The text of a cell. Panics if the file has not this column.
    pub fn text(&self, column: usize) -> &'a str {
        self.cells[self.csv.order[column].expect("the column was needed")].1
    }
    /// A problem with a cell.
    pub fn fault(&self, column: usize, problem: Problem) -> Fault {
        let (start, text) = self.cells[self.csv.order[column].expect("the column was needed")];
        let loc =
            Loc { source: self.csv.source, start: start as u32, end: (start + text.len()) as u32 };
        Fault::at(loc, self.csv.columns[column], problem)
    }
    /// A cell that holds a whole number.
    pub fn integer(&self, column: usize) -> Result<u64, Fault> {
        self.text(column).parse().map_err(|_| self.wrong(column, "an integer"))
    }
    /// The fault of a cell that does not hold what is expected.
    pub fn wrong(&self, column: usize, expected: &str) -> Fault {
        let found = format!("`{}`", self.text(column));
        self.fault(column, Problem::WrongType { expected: expected.into(), found })
    }
}

fn split(line: &str, at: usize) -> Vec<(usize, &str)> {
    let mut start = at;
    line.split(',')
        .map(|cell| {
            let offset = cell.len() - cell.trim_start().len();
            let place = start + offset;
            start += cell.len() + 1;
            (place, cell.trim())
        })
        .collect()
}
