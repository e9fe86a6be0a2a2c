//! Reads the qlog files that are named, and fails at the first that is not one of `forebay export
//! qlog`: every event is one of the schema, nothing in it is unknown, and times do not go back.

use qlog::events::EventData;
use qlog::reader::{Event, QlogSeqReader};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        return Err("no files".into());
    }
    for file in files {
        let events = read(&file).map_err(|error| format!("{file}: {error}"))?;
        println!("{file}: {events} events");
    }
    Ok(())
}

/// How many events there are.
fn read(file: &str) -> Result<usize, Box<dyn Error>> {
    let (mut events, mut before_ms) = (0, 0.0);
    for event in QlogSeqReader::with_file(file)? {
        let Event::Qlog(event) = event else { return Err(format!("no schema: {event:?}").into()) };
        let EventData::QuicMetricsUpdated(metrics) = &event.data else {
            return Err(format!("another event: {event:?}").into());
        };
        if !metrics.ex_data.is_empty() || event.time < before_ms {
            return Err(format!("unknown fields or a time that goes back: {event:?}").into());
        }
        (events, before_ms) = (events + 1, event.time);
    }
    // A file of which the parser takes nothing is no evidence.
    if events < 10 { Err(format!("{events} events").into()) } else { Ok(events) }
}
