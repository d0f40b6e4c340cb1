//! Owns which instructions read memory, write memory, or access a CSR, by their encoding.
//!
//! Sources: LoongArch Reference Manual volume 1, appendix B (table of encodings), and volume 2 for vectors. An atomic
//! `am*` both loads and stores; `sc` counts as a store whether it succeeds or not. Prefetches and cache operations
//! are neither. `lddir` and `ldpte` read page tables: they are loads.

/// What an instruction does besides being executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// It reads memory.
    pub load: bool,
    /// It writes memory.
    pub store: bool,
    /// It reads, writes or exchanges a control and status register.
    pub csr: bool,
}

const NONE: Effects = Effects { load: false, store: false, csr: false };
const LOAD: Effects = Effects { load: true, ..NONE };
const STORE: Effects = Effects { store: true, ..NONE };
const BOTH: Effects = Effects { load: true, store: true, ..NONE };
const CSR: Effects = Effects { csr: true, ..NONE };

impl Effects {
    /// Returns what the instruction of this encoding does.
    #[must_use]
    pub fn of(instruction: u32) -> Self {
        match instruction >> 26 {
            0x01 if instruction >> 24 == 0x04 => CSR,
            // lddir, ldpte
            0x01 if matches!(instruction >> 18, 0x190 | 0x191) => LOAD,
            // ll.w, sc.w, ll.d, sc.d; ldptr.w, stptr.w, ldptr.d, stptr.d
            0x08 | 0x09 => by_bit(instruction >> 24, STORE),
            // ld.{b,h,w,d} st.{b,h,w,d} ld.{bu,hu,wu} preld; fld, fst; vld, vst, xvld, xvst
            0x0a | 0x0b => immediate(instruction),
            // vldrepl, vstelm, xvldrepl, xvstelm
            0x0c => element(instruction),
            0x0e => indexed(instruction),
            _ => NONE,
        }
    }
}

/// `ll`/`sc` and `ldptr`/`stptr`: the lowest bit of the operation tells a write.
fn by_bit(operation: u32, write: Effects) -> Effects {
    if operation & 1 == 0 { LOAD } else { write }
}

/// Address is a register and a 12-bit immediate.
fn immediate(instruction: u32) -> Effects {
    match instruction >> 22 {
        // ld.b ld.h ld.w ld.d
        0xa0..=0xa3 => LOAD,
        // st.b st.h st.w st.d
        0xa4..=0xa7 => STORE,
        // ld.bu ld.hu ld.wu
        0xa8..=0xaa => LOAD,
        // fld.s fst.s fld.d fst.d vld vst xvld xvst
        operation @ 0xac..=0xb3 => by_bit(operation, STORE),
        // preld
        _ => NONE,
    }
}

/// One element of a vector, or one loaded to all of them.
fn element(instruction: u32) -> Effects {
    match instruction >> 23 {
        // vldrepl.{d,w,h,b}
        0x60 | 0x61 => LOAD,
        // vstelm.{d,w,h,b}
        0x62 | 0x63 => STORE,
        // xvldrepl
        0x64 | 0x65 => LOAD,
        // xvstelm
        0x66 | 0x67 => STORE,
        _ => NONE,
    }
}

/// Address is the sum of two registers, or bounded, or atomic.
fn indexed(instruction: u32) -> Effects {
    match instruction >> 15 {
        // ldx.b ldx.h ldx.w ldx.d, spaced by 8
        0x7000 | 0x7008 | 0x7010 | 0x7018 => LOAD,
        // stx.b stx.h stx.w stx.d
        0x7020 | 0x7028 | 0x7030 | 0x7038 => STORE,
        // ldx.bu ldx.hu ldx.wu
        0x7040 | 0x7048 | 0x7050 => LOAD,
        // fldx.s fldx.d fstx.s fstx.d
        0x7060 | 0x7068 => LOAD,
        0x7070 | 0x7078 => STORE,
        // vldx vstx xvldx xvstx
        0x7080 | 0x7090 => LOAD,
        0x7088 | 0x7098 => STORE,
        // sc.q; llacq.w screl.w llacq.d screl.d, told apart in the second operand's field
        0x70ae => STORE,
        0x70af => by_bit(instruction >> 10, STORE),
        // amcas, amswap.b/h, amadd.b/h, with and without a barrier
        0x70b0..=0x70bf => BOTH,
        // amswap to ammin_db.du
        0x70c0..=0x70e3 => BOTH,
        // fldgt.s fldgt.d fldle.s fldle.d fstgt.s fstgt.d fstle.s fstle.d
        0x70e8..=0x70eb => LOAD,
        0x70ec..=0x70ef => STORE,
        // ldgt.{b,h,w,d} ldle.{b,h,w,d} stgt.{b,h,w,d} stle.{b,h,w,d}
        0x70f0..=0x70f7 => LOAD,
        0x70f8..=0x70ff => STORE,
        _ => NONE,
    }
}

#[cfg(test)]
mod tests;
