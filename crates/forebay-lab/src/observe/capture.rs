//! `packets.pcapng`: every packet on every link, or on those that were chosen, as bytes, whole or
//! their beginnings.
//!
//! One interface per directed link, called `a->b`; one record for each packet that arrives at the
//! end of its link, at the time when it arrives. So the number of records is the number of
//! packet-hops of the run, less the packets that were lost on a wire after their transmission, less
//! those still on a wire when the run ended. A packet is seen once on each link that it passes:
//! `frame.interface_name == "a->b"` in Wireshark shows one of them.

use super::{CaptureFilter, CaptureLimit};
use crate::error::StoreError;
use forebay_base::{Arena, LinkId, Packet, Time};
use forebay_net::NetSpec;
use forebay_run::link_arrows;
use forebay_wire::AddressPlan;
use forebay_wire::pcapng::{Capture, Direction, Interface, PcapngWriter, Sink};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A capture in the making.
pub(super) struct CaptureFile {
    writer: PcapngWriter<LimitedFile>,
    /// That of each directed link; None for those that are not captured.
    interfaces: Vec<Option<Interface>>,
    plan: AddressPlan,
    bytes: Vec<u8>,
}

struct LimitedFile {
    path: PathBuf,
    file: BufWriter<File>,
    left_bytes: u64,
    limit: CaptureLimit,
}

impl Sink for LimitedFile {
    type Error = StoreError;
    fn append(&mut self, block: &[u8]) -> Result<(), StoreError> {
        let left = self.left_bytes.checked_sub(block.len() as u64);
        self.left_bytes = left.ok_or_else(|| StoreError::CaptureTooLong {
            path: self.path.clone(),
            limit_bytes: self.limit.0,
        })?;
        self.file.write_all(block).map_err(StoreError::io("write", &self.path))
    }
}

impl CaptureFile {
    pub fn create(
        path: &Path,
        spec: &NetSpec,
        limit: CaptureLimit,
        filter: CaptureFilter<'_>,
    ) -> Result<CaptureFile, StoreError> {
        let file = File::create(path).map_err(StoreError::io("create", path))?;
        let file = BufWriter::with_capacity(1 << 16, file);
        let sink = LimitedFile { path: path.to_path_buf(), file, left_bytes: limit.0, limit };
        let mut writer = PcapngWriter::new(sink, concat!("Forebay ", env!("CARGO_PKG_VERSION")))?;
        let (plan, snap_bytes) = (AddressPlan::default(), filter.snap_bytes.unwrap_or(0));
        let mut interfaces = Vec::new();
        for (name, id) in link_arrows(spec).iter().zip(0..) {
            let wanted = filter.links.is_none_or(|links| links.contains(&LinkId(id)));
            let interface = wanted.then(|| writer.interface_with_snap_length(name, snap_bytes));
            interfaces.push(interface.transpose()?);
        }
        Ok(CaptureFile { writer, interfaces, plan, bytes: Vec::new() })
    }
    pub fn packet(
        &mut self,
        at: Time,
        link: LinkId,
        packet: &Packet,
        arena: &Arena,
    ) -> Result<(), StoreError> {
        let Some(interface) = self.interfaces[link.index()] else { return Ok(()) };
        self.bytes.clear();
        let emitted = forebay_wire::emit(packet, arena, &self.plan, &mut self.bytes);
        emitted.expect("every address of a run is in its plan");
        let capture = Capture { interface, at, direction: Direction::Inbound, comment: None };
        self.writer.packet(&capture, &self.bytes)
    }
    pub fn finish(self) -> Result<(), StoreError> {
        let LimitedFile { path, file, .. } = self.writer.into_sink();
        let file = file.into_inner().map_err(|e| e.into_error());
        let synced = file.and_then(|file| file.sync_all());
        synced.map_err(StoreError::io("write", &path))
    }
}
