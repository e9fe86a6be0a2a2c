//! Fails, and says which, if a WebAssembly module imports anything.
//! The format: <https://webassembly.github.io/spec/core/binary/modules.html>.

const HEADER_BYTES: usize = 8;
const IMPORT_SECTION: u8 = 2;

/// An unsigned LEB128 number.
fn number(bytes: &[u8], at: &mut usize) -> usize {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        value |= ((byte & 0x7f) as usize) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return value;
        }
    }
}

fn main() {
    let path = std::env::args().nth(1).expect("usage: wasm_imports FILE");
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    assert_eq!(&bytes[..4], b"\0asm", "{path} is no WebAssembly module");
    let mut at = HEADER_BYTES;
    while at < bytes.len() {
        let section = bytes[at];
        at += 1;
        let len = number(&bytes, &mut at);
        if section == IMPORT_SECTION {
            let names = String::from_utf8_lossy(&bytes[at..at + len]);
            eprintln!("{path} imports: {}", names.escape_debug());
            std::process::exit(1);
        }
        at += len;
    }
    println!("{path}: {} bytes, no imports", bytes.len());
}
