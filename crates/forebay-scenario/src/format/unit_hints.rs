//! Units that look like another of another size: bytes for bits, and 1024 for 1000. The nearest
//! spelling would be wrong by a
//! factor of 8, so these have hints of their own.

/// What `value` of `unit` is in one of `units`, if the unit is one of data or of data per second
/// that is not among them.
pub(crate) fn hint(value: f64, unit: &str, units: &[&str]) -> Option<String> {
    if units.contains(&"bit/s") {
        let data = ["/s", "/sec", "ps"].iter().find_map(|end| unit.strip_suffix(end));
        return rate(value, Data::read(data.unwrap_or(unit))?);
    }
    if units.contains(&"B") { size(value, Data::read(unit)?) } else { None }
}

fn rate(value: f64, data: Data) -> Option<String> {
    let in_bits = data.shown(value, "bit/s");
    if !data.bytes {
        return Some(format!("did you mean \"{in_bits}\"?"));
    }
    let (one, eight) = (data.spelled("B/s"), data.shown(8.0, "bit/s"));
    let in_bytes = data.shown(8.0 * value, "bit/s");
    Some(format!(
        "1{one} is {eight}: \"{in_bytes}\" if bytes were meant, \"{in_bits}\" if bits were"
    ))
}

fn size(value: f64, data: Data) -> Option<String> {
    if data.bytes {
        let decimal = Data { binary: false, ..data };
        let (decimal, binary) = (decimal.shown(value, "B"), format!("{value}{}iB", data.prefix));
        return match (data.binary, data.prefix) {
            // "KB" is 1000 bytes to one and 1024 to another.
            (false, "K") => {
                Some(format!("\"{value}kB\" (1000 bytes each) or \"{binary}\" (1024 bytes each)"))
            }
            (false, _) => Some(format!("did you mean \"{decimal}\"?")),
            (true, _) => Some(format!("did you mean \"{binary}\"?")),
        };
    }
    let (in_bits, in_bytes) = (data.shown(value / 8.0, "B"), data.shown(value, "B"));
    let (eight, one) = (data.spelled("bit"), data.shown(1.0, "B"));
    Some(format!(
        "8{eight} are {one}: \"{in_bits}\" if bits were meant, \"{in_bytes}\" if bytes were"
    ))
}

/// A unit of data, in any of the usual spellings.
#[derive(Clone, Copy)]
struct Data {
    bytes: bool,
    /// "", "K", "M", "G".
    prefix: &'static str,
    /// The prefix is one of 1024.
    binary: bool,
}

impl Data {
    fn read(unit: &str) -> Option<Data> {
        let (prefix, name) = unit.split_at(unit.find(['b', 'B'])?);
        let bytes = match name {
            "b" | "bit" | "bits" => false,
            "B" | "byte" | "bytes" | "Byte" | "Bytes" => true,
            _ => return None,
        };
        let (prefix, binary) = match prefix {
            "" => ("", false),
            "k" | "K" => ("K", false),
            "M" => ("M", false),
            "G" => ("G", false),
            "ki" | "Ki" => ("K", true),
            "Mi" => ("M", true),
            "Gi" => ("G", true),
            _ => return None,
        };
        Some(Data { bytes, prefix, binary })
    }
    /// The unit with this name.
    fn spelled(self, name: &str) -> String {
        match (self.binary, self.prefix) {
            (true, prefix) => format!("{prefix}i{name}"),
            (false, "K") => format!("k{name}"),
            (false, prefix) => format!("{prefix}{name}"),
        }
    }
    /// How many of it, as a multiple of 1000 of `name`.
    fn shown(self, value: f64, name: &str) -> String {
        let power = match self.prefix {
            "" => 0,
            "K" => 1,
            "M" => 2,
            _ => 3,
        };
        let factor = if self.binary { 1.024f64.powi(power) } else { 1.0 };
        let value = (value * factor * 1e6).round() / 1e6;
        format!("{value}{}", Data { binary: false, ..self }.spelled(name))
    }
}

#[cfg(test)]
mod tests {
    use super::hint;

    const RATES: &[&str] = &["bit/s", "Mbit/s", "Mbps"];
    const SIZES: &[&str] = &["B", "kB", "MB", "KiB"];

    #[test]
    fn bytes_per_second_are_eight_times_as_many_bits() {
        let expected =
            "1MB/s is 8Mbit/s: \"80Mbit/s\" if bytes were meant, \"10Mbit/s\" if bits were";
        for unit in ["MBps", "MB/s", "MByte/s", "MB"] {
            assert_eq!(hint(10.0, unit, RATES).as_deref(), Some(expected), "{unit}");
        }
        let expected =
            "1kB/s is 8kbit/s: \"20kbit/s\" if bytes were meant, \"2.5kbit/s\" if bits were";
        assert_eq!(hint(2.5, "KB/s", RATES).as_deref(), Some(expected));
        let expected = "1B/s is 8bit/s: \"80bit/s\" if bytes were meant, \"10bit/s\" if bits were";
        assert_eq!(hint(10.0, "Bps", RATES).as_deref(), Some(expected));
        // 2^20 bytes are 8 388 608 bits.
        let expected = "1MiB/s is 8.388608Mbit/s: \"8.388608Mbit/s\" if bytes were meant, \
                        \"1.048576Mbit/s\" if bits were";
        assert_eq!(hint(1.0, "MiB/s", RATES).as_deref(), Some(expected));
    }

    #[test]
    fn bits_in_other_spellings_stay_bits() {
        let says = |value, unit| hint(value, unit, RATES).unwrap();
        assert_eq!(says(10.0, "Mb/s"), "did you mean \"10Mbit/s\"?");
        assert_eq!(says(10.0, "Kbps"), "did you mean \"10kbit/s\"?");
        assert_eq!(says(10.0, "Mb"), "did you mean \"10Mbit/s\"?");
        assert_eq!(says(10.0, "Mibit/s"), "did you mean \"10.48576Mbit/s\"?");
        assert_eq!((hint(10.0, "ms", RATES), hint(1.0, "", RATES)), (None, None));
    }

    #[test]
    fn sizes_in_bits_and_in_doubtful_thousands() {
        let says = |value, unit| hint(value, unit, SIZES).unwrap();
        let expected = "8Mbit are 1MB: \"1.25MB\" if bits were meant, \"10MB\" if bytes were";
        assert_eq!(says(10.0, "Mb"), expected);
        assert_eq!(says(10.0, "Mbit"), expected);
        // 2^20 bits are 131 072 bytes.
        let expected = "8Mibit are 1.048576MB: \"0.131072MB\" if bits were meant, \"1.048576MB\" \
                        if bytes were";
        assert_eq!(says(1.0, "Mib"), expected);
        assert_eq!(
            says(64.0, "b"),
            "8bit are 1B: \"8B\" if bits were meant, \"64B\" if bytes were"
        );
        assert_eq!(says(64.0, "KB"), "\"64kB\" (1000 bytes each) or \"64KiB\" (1024 bytes each)");
        assert_eq!(says(64.0, "bytes"), "did you mean \"64B\"?");
        assert_eq!(hint(5.0, "packts", SIZES), None);
    }
}
