//! Makes the vDSO, the page of code that Linux maps into every program, and links the server into the upper half
//! with the runtime's linker script (C-44).
//!
//! The vDSO is an ELF shared object with one function, `__vdso_rt_sigreturn`, in version LINUX_5.10, as Linux's own for
//! LoongArch (arch/loongarch/vdso/vdso.lds.S). Programs read its dynamic section in memory; unwinders know the
//! function by its two instructions. It has no section headers: nothing in a program looks at them.

use std::path::PathBuf;

const SYMBOL: &str = "__vdso_rt_sigreturn";
const VERSION: &str = "LINUX_5.10";
const SONAME: &str = "linux-vdso.so.1";
/// `ori $a7, $zero, 139; syscall 0`.
const CODE: [u32; 2] = [0x0382_2c0b, 0x002b_0000];

const HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;
const SYMBOL_BYTES: u64 = 24;

fn main() -> Result<(), std::io::Error> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../runtime/upper.ld");
    let bare_metal = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "none");
    if let (true, Ok(folder)) = (bare_metal, std::env::var("CARGO_MANIFEST_DIR")) {
        let script = format!("-T{folder}/../runtime/upper.ld");
        for argument in ["-static", "--no-pie", "-zmax-page-size=0x4000", "--build-id=none", &script] {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
    let directory = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    std::fs::write(directory.join("vdso.so"), image())
}

/// Appends little-endian numbers.
trait Numbers {
    fn half(&mut self, value: u16);
    fn word(&mut self, value: u32);
    fn double(&mut self, value: u64);
    fn align(&mut self, to: usize) -> u64;
}

impl Numbers for Vec<u8> {
    fn half(&mut self, value: u16) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn word(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn double(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn align(&mut self, to: usize) -> u64 {
        self.resize(self.len().next_multiple_of(to), 0);
        self.len() as u64
    }
}

/// Names, one after the other; where each begins.
struct Names {
    bytes: Vec<u8>,
}

impl Names {
    fn add(&mut self, name: &str) -> u32 {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        u32::try_from(at).unwrap_or(0)
    }
}

/// System V's hash of a name (gABI, "Hash Table").
fn hash(name: &str) -> u32 {
    name.bytes().fold(0_u32, |hash, byte| {
        let next = (hash << 4).wrapping_add(u32::from(byte));
        let high = next & 0xf000_0000;
        (next ^ (high >> 24)) & !high
    })
}

fn image() -> Vec<u8> {
    let mut names = Names { bytes: vec![0] };
    let (symbol, version, soname) = (names.add(SYMBOL), names.add(VERSION), names.add(SONAME));
    let mut body = vec![0; usize::try_from(HEADER + 2 * PROGRAM_HEADER).unwrap_or(0)];

    let hash_at = body.align(8);
    // One bucket: its chain is symbol 1, then the end.
    [1, 2, 1, 0, 0].into_iter().for_each(|word| body.word(word));
    let symbols_at = body.align(8);
    let code_at = symbols_at + 2 * SYMBOL_BYTES;
    let code_at = code_at.next_multiple_of(16);
    body.resize(body.len() + 24, 0);
    body.word(symbol);
    // A global function, in a section that is neither undefined nor absolute.
    body.extend_from_slice(&[0x12, 0, 1, 0]);
    body.double(code_at);
    body.double(8);
    body.align(16);
    CODE.into_iter().for_each(|instruction| body.word(instruction));
    let names_at = body.align(8);
    body.extend_from_slice(&names.bytes);
    let versions_at = body.align(8);
    [0, 2].into_iter().for_each(|version| body.half(version));
    let definitions_at = body.align(8);
    // The object itself, then the version.
    define(&mut body, 1, (1, hash(SONAME)), soname, 28);
    define(&mut body, 0, (2, hash(VERSION)), version, 0);
    let dynamic_at = body.align(8);
    let entries = [
        (14, u64::from(soname)),
        (4, hash_at),
        (5, names_at),
        (6, symbols_at),
        (10, names.bytes.len() as u64),
        (11, SYMBOL_BYTES),
        (0x6fff_fffc, definitions_at),
        (0x6fff_fffd, 2),
        (0x6fff_fff0, versions_at),
        (0, 0),
    ];
    for (tag, value) in entries {
        body.double(tag);
        body.double(value);
    }
    let mut image = headers(body.len() as u64, dynamic_at, entries.len() as u64 * 16);
    image.extend(body.drain(image.len()..));
    image
}

/// A version definition with one name.
fn define(body: &mut Vec<u8>, flags: u16, (index, hash): (u16, u32), name: u32, next: u32) {
    [1, flags, index, 1].into_iter().for_each(|half| body.half(half));
    [hash, 20, next, name, 0].into_iter().for_each(|word| body.word(word));
}

fn headers(bytes: u64, dynamic_at: u64, dynamic_bytes: u64) -> Vec<u8> {
    let mut out = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    // A shared object for LoongArch, version 1.
    out.half(3);
    out.half(258);
    out.word(1);
    // No entry; program headers behind this; no section headers; LP64D, object ABI 1.
    [0, HEADER, 0].into_iter().for_each(|value| out.double(value));
    out.word(0x43);
    [64, 56, 2, 64, 0, 0].into_iter().for_each(|half| out.half(half));
    // PT_LOAD, read and execute.
    out.word(1);
    out.word(5);
    [0, 0, 0, bytes, bytes, 0x4000].into_iter().for_each(|value| out.double(value));
    // PT_DYNAMIC, read.
    out.word(2);
    out.word(4);
    [dynamic_at, dynamic_at, dynamic_at, dynamic_bytes, dynamic_bytes, 8]
        .into_iter()
        .for_each(|value| out.double(value));
    out
}
