//! What people read of a metric.

use crate::statistics::Range;

/// What a number counts. Its display chooses prefix and digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bits per second.
    BitsPerSecond,
    /// Bytes.
    Bytes,
    /// A share of one, shown in percent.
    Share,
    /// A number without unit.
    Plain,
    /// A number of things: whole, unless it is a mean.
    Count,
}

/// When a row of the table says nothing, and is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// Never.
    No,
    /// With one flow: it is its own mean, and shares with no one.
    OneFlow,
    /// Where every flow completed: what they delivered is known before.
    AllCompleted,
    /// Where no run has any.
    Zero,
    /// Where no link follows a trace.
    NoTrace,
    /// Always: results alone have it.
    Always,
}

/// A metric, for people.
#[derive(Clone, Copy, Debug)]
pub struct MetricDoc {
    /// Key in results.
    pub name: &'static str,
    /// Its name in the table and in the report.
    pub label: &'static str,
    /// Unit in results, or empty.
    pub unit: &'static str,
    /// Displayed value: the number in results times `scale`, in this unit.
    pub shown: Unit,
    /// 1e-3 for the `_ms` of results, which are shown in seconds; else 1.
    pub scale: f64,
    /// True if the table and the report have a row of it: then it is one number.
    pub in_table: bool,
    /// True if results have it for each class of flows, too.
    pub by_class: bool,
    /// For which directed links it is a number, by name; if for any, it is not one number.
    pub by_link: OfLinks,
    /// Where it is if not among the metrics.
    pub counted: Option<Counted>,
    /// True if the table and the report have a row of it for each class, where a run has several.
    pub class_row: bool,
    /// When its row is left out.
    pub hidden: Hidden,
    /// Its description, in a line.
    pub meaning: &'static str,
    /// Formula, what it counts and when, where a line does not say it; else empty.
    pub more: &'static str,
}

/// The directed links that have a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfLinks {
    /// None.
    No,
    /// Those between routers; all if there are none.
    Measured,
    /// Those that follow a delivery trace.
    Traces,
    /// All.
    All,
}

/// Counts in the result of a run besides its metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Flows that completed.
    Completed,
    /// Dropped packets, whatever the reason.
    Drops,
}

/// A metric with a row in the table, in the unit of results.
pub(super) const fn row(label: &'static str, shown: Unit, meaning: &'static str) -> MetricDoc {
    let unit = match shown {
        Unit::Seconds => "s",
        Unit::BitsPerSecond => "bit/s",
        Unit::Bytes => "B",
        Unit::Share | Unit::Plain | Unit::Count => "",
    };
    let (in_table, by_class, class_row, hidden) = (true, false, false, Hidden::No);
    let (name, scale, more) = ("", 1.0, "");
    MetricDoc {
        name,
        label,
        unit,
        shown,
        scale,
        in_table,
        by_class,
        by_link: OfLinks::No,
        counted: None,
        class_row,
        hidden,
        meaning,
        more,
    }
}

/// What has no row of its own; without a label it is called by its key.
pub(super) const fn aside(label: &'static str, shown: Unit, meaning: &'static str) -> MetricDoc {
    MetricDoc { in_table: false, ..row(label, shown, meaning) }
}

impl MetricDoc {
    pub(super) const fn more(self, more: &'static str) -> MetricDoc {
        MetricDoc { more, ..self }
    }

    /// Results have it in milliseconds.
    pub(super) const fn in_ms(self) -> MetricDoc {
        MetricDoc { unit: "ms", scale: 1e-3, ..self }
    }

    /// It is a number for each of these links.
    pub(super) const fn by_link(self, by_link: OfLinks) -> MetricDoc {
        MetricDoc { by_link, ..self }
    }

    /// It is a count besides the metrics, with this key.
    pub(super) const fn counted(self, name: &'static str, counted: Counted) -> MetricDoc {
        MetricDoc { name, counted: Some(counted), ..self }
    }

    /// The table has a row of it for each class of flows.
    pub(super) const fn class_row(self) -> MetricDoc {
        MetricDoc { class_row: true, ..self }
    }

    pub(super) const fn hidden(self, hidden: Hidden) -> MetricDoc {
        MetricDoc { hidden, ..self }
    }

    /// Its key, and whether classes have it.
    pub(super) const fn named(self, name: &'static str, by_class: bool) -> MetricDoc {
        let label = if self.label.is_empty() { name } else { self.label };
        MetricDoc { name, label, by_class, ..self }
    }

    /// The values that it can have.
    pub fn range(&self) -> Range {
        match self.shown {
            // A metric without a unit is an index of fairness.
            Unit::Share | Unit::Plain => Range::Within(0.0, 1.0),
            Unit::Seconds | Unit::BitsPerSecond | Unit::Bytes | Unit::Count => Range::NonNegative,
        }
    }

    /// True if it can be compared with a value: it is one number, or one for each link.
    pub fn is_comparable(&self) -> bool {
        self.in_table || self.by_link != OfLinks::No || self.counted.is_some()
    }
}
