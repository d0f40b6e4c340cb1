//! Tests of the table of opcodes against encodings that LLVM's assembler made.

use super::*;

/// Instructions that read memory.
const LOADS: &[(u32, &str)] = &[
    (0x280004a4, "ld.b"),
    (0x284004a4, "ld.h"),
    (0x288004a4, "ld.w"),
    (0x28c004a4, "ld.d"),
    (0x2a0004a4, "ld.bu"),
    (0x2a4004a4, "ld.hu"),
    (0x2a8004a4, "ld.wu"),
    (0x2b0000a0, "fld.s"),
    (0x2b8000a0, "fld.d"),
    (0x2c0000a0, "vld"),
    (0x2c8000a0, "xvld"),
    (0x200000a4, "ll.w"),
    (0x220000a4, "ll.d"),
    (0x240000a4, "ldptr.w"),
    (0x260000a4, "ldptr.d"),
    (0x380018a4, "ldx.b"),
    (0x380418a4, "ldx.h"),
    (0x380818a4, "ldx.w"),
    (0x380c18a4, "ldx.d"),
    (0x382018a4, "ldx.bu"),
    (0x382418a4, "ldx.hu"),
    (0x382818a4, "ldx.wu"),
    (0x383018a0, "fldx.s"),
    (0x383418a0, "fldx.d"),
    (0x384018a0, "vldx"),
    (0x384818a0, "xvldx"),
    (0x385780a4, "llacq.w"),
    (0x385788a4, "llacq.d"),
    (0x387418a0, "fldgt.s"),
    (0x387598a0, "fldle.d"),
    (0x387818a4, "ldgt.b"),
    (0x387b98a4, "ldle.d"),
    (0x301000a0, "vldrepl.d"),
    (0x308000a0, "vldrepl.b"),
    (0x321000a0, "xvldrepl.d"),
    (0x328000a0, "xvldrepl.b"),
    (0x064004a4, "lddir"),
    (0x064400a0, "ldpte"),
];

/// Instructions that write memory.
const STORES: &[(u32, &str)] = &[
    (0x290004a4, "st.b"),
    (0x294004a4, "st.h"),
    (0x298004a4, "st.w"),
    (0x29c004a4, "st.d"),
    (0x2b4000a0, "fst.s"),
    (0x2bc000a0, "fst.d"),
    (0x2c4000a0, "vst"),
    (0x2cc000a0, "xvst"),
    (0x210000a4, "sc.w"),
    (0x230000a4, "sc.d"),
    (0x250000a4, "stptr.w"),
    (0x270000a4, "stptr.d"),
    (0x381018a4, "stx.b"),
    (0x381418a4, "stx.h"),
    (0x381818a4, "stx.w"),
    (0x381c18a4, "stx.d"),
    (0x383818a0, "fstx.s"),
    (0x383c18a0, "fstx.d"),
    (0x384418a0, "vstx"),
    (0x384c18a0, "xvstx"),
    (0x385718a4, "sc.q"),
    (0x385784a4, "screl.w"),
    (0x38578ca4, "screl.d"),
    (0x387618a0, "fstgt.s"),
    (0x387798a0, "fstle.d"),
    (0x387c18a4, "stgt.b"),
    (0x387f98a4, "stle.d"),
    (0x311000a0, "vstelm.d"),
    (0x318000a0, "vstelm.b"),
    (0x331000a0, "xvstelm.d"),
    (0x338000a0, "xvstelm.b"),
];

/// Instructions that do both.
const ATOMICS: &[(u32, &str)] = &[
    (0x385818a4, "amcas.b"),
    (0x385b98a4, "amcas_db.d"),
    (0x385c18a4, "amswap.b"),
    (0x385d98a4, "amadd.h"),
    (0x385f98a4, "amadd_db.h"),
    (0x386018a4, "amswap.w"),
    (0x386198a4, "amadd.d"),
    (0x387198a4, "ammin_db.du"),
];

/// Instructions that access a CSR.
const CSR_ACCESSES: &[(u32, &str)] = &[(0x0400c004, "csrrd"), (0x0400c024, "csrwr"), (0x0400c0a4, "csrxchg")];

/// Instructions that do none of this, neighbours of those that do among them.
const OTHERS: &[(u32, &str)] = &[
    (0x2ac000a0, "preld"),
    (0x382c18a0, "preldx"),
    (0x38720000, "dbar"),
    (0x38728000, "ibar"),
    (0x064808a4, "iocsrrd.w"),
    (0x06481ca4, "iocsrwr.d"),
    (0x060000a0, "cacop"),
    (0x06482800, "tlbsrch"),
    (0x06499480, "invtlb"),
    (0x06483800, "ertn"),
    (0x06488000, "idle"),
    (0x002b0000, "syscall"),
    (0x002a0000, "break"),
    (0x000068a4, "rdtime.d"),
    (0x00006ca4, "cpucfg"),
    (0x03968400, "ori"),
    (0x001098a4, "add.d"),
    (0x02c004a4, "addi.d"),
    (0x14000024, "lu12i.w"),
    (0x18000024, "pcaddi"),
    (0x58000885, "beq"),
    (0x54000800, "bl"),
    (0x4c000020, "jirl"),
    (0x01010820, "fadd.d"),
    (0x08218820, "fmadd.d"),
    (0x700a0820, "vadd.b"),
    (0x740a0820, "xvadd.b"),
];

fn all_are(table: &[(u32, &str)], expected: Effects) {
    for (encoding, name) in table {
        assert_eq!(Effects::of(*encoding), expected, "{name} {encoding:#010x}");
    }
}

#[test]
fn every_instruction_has_its_effects() {
    all_are(LOADS, LOAD);
    all_are(STORES, STORE);
    all_are(ATOMICS, BOTH);
    all_are(CSR_ACCESSES, CSR);
    all_are(OTHERS, NONE);
}

#[test]
fn operands_do_not_change_what_an_instruction_does() {
    // ld.d, st.d and csrrd with every operand bit set.
    assert_eq!(Effects::of(0x28ff_ffff), LOAD);
    assert_eq!(Effects::of(0x29ff_ffff), STORE);
    assert_eq!(Effects::of(0x04ff_ffff), CSR);
    // amadd.d with the highest registers.
    assert_eq!(Effects::of(0x3861_ffff), BOTH);
}
