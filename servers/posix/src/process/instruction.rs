//! What an instruction does to memory, for faults whose code does not say (LoongArch manual, volume 1, appendix B).

use crate::memory::fault::Access;
use crate::number::to_usize;

/// Whether the instruction at which a program faulted stores or loads. What does both, as an atomic one, stores.
pub(super) const fn access(instruction: u32) -> Access {
    let stores = match instruction >> 24 {
        // ll.w, sc.w, ll.d, sc.d; ldptr and stptr.
        0x21 | 0x23 | 0x25 | 0x27 => true,
        // st.b to st.d.
        0x29 => true,
        // fld and fst, vld and vst: every other one.
        0x2b | 0x2c => instruction >> 22 & 1 == 1,
        // vstelm, xvstelm.
        0x31 | 0x33 => true,
        0x38 => indexed_stores(instruction >> 15 & 0x1ff),
        _ => false,
    };
    if stores { Access::Store } else { Access::Load }
}

/// The same of an instruction with two address registers, by the nine bits above them.
const fn indexed_stores(operation: u32) -> bool {
    match operation {
        // stx.b to stx.d; fstx; vstx; xvstx.
        0x020..=0x03f | 0x070..=0x07f | 0x088..=0x08f | 0x098..=0x09f => true,
        // sc.q; the atomic ones.
        0x0ae | 0x0b0..=0x0e3 => true,
        // fstgt, fstle; stgt, stle.
        0x0ec..=0x0ef | 0x0f8..=0x0ff => true,
        _ => false,
    }
}

/// What a bound check compared: the address, and what it was not to be below and not above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) address: u64,
    pub(super) lower: u64,
    pub(super) upper: u64,
}

/// The check of an instruction that faulted in it, from the general registers; none for one that checks nothing.
pub(super) fn bounds(instruction: u32, general: &[u64; 32]) -> Option<Bounds> {
    let register = |shift: u32| general.get(to_usize(u64::from(instruction >> shift & 31))).copied();
    let (address, other) = (register(5)?, register(10)?);
    // asrtle and asrtgt; of loads and stores, those that check "greater" come before those that check "less".
    let is_greater = match (instruction >> 15, instruction & 31) {
        (2, 0) => false,
        (3, 0) => true,
        (0x70e8 | 0x70e9 | 0x70ec | 0x70ed | 0x70f0..=0x70f3 | 0x70f8..=0x70fb, _) => true,
        (0x70ea | 0x70eb | 0x70ee | 0x70ef | 0x70f4..=0x70f7 | 0x70fc..=0x70ff, _) => false,
        _ => return None,
    };
    let (lower, upper) = if is_greater { (other, u64::MAX) } else { (0, other) };
    Some(Bounds { address, lower, upper })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_told_from_loads() {
        let loads = [
            0x2000_0085,
            0x2200_0085,
            0x2400_0085,
            0x2600_0085,
            0x2800_0085,
            0x2840_0085,
            0x2880_0085,
            0x28c0_0085,
            0x2a00_0085,
            0x2a80_0085,
            0x2b00_0085,
            0x2b80_0085,
            0x2c00_0085,
            0x2c80_0085,
            0x3010_0085,
            0x3210_0085,
            0x3800_1885,
            0x380c_1885,
            0x3828_1885,
            0x3830_1885,
            0x3834_1885,
            0x3840_1885,
            0x3848_1885,
            0x3874_1885,
            0x3878_1885,
            0x387b_9885,
        ];
        let stores = [
            0x2100_0085,
            0x2300_0085,
            0x2500_0085,
            0x2700_0085,
            0x2900_0085,
            0x2940_0085,
            0x2980_0085,
            0x29c0_0085,
            0x2b40_0085,
            0x2bc0_0085,
            0x2c40_0085,
            0x2cc0_0085,
            0x3110_0085,
            0x3310_0085,
            0x3810_1885,
            0x381c_1885,
            0x3838_1885,
            0x383c_1885,
            0x3844_1885,
            0x384c_1885,
            0x3860_1885,
            0x3861_1885,
            0x3869_1885,
            0x3871_9885,
            0x3876_1885,
            0x387c_1885,
            0x387f_9885,
        ];
        for instruction in loads {
            assert_eq!(access(instruction), Access::Load, "{instruction:#x}");
        }
        for instruction in stores {
            assert_eq!(access(instruction), Access::Store, "{instruction:#x}");
        }
    }

    #[test]
    fn bounds_are_those_of_the_registers() {
        let general = core::array::from_fn(|number| number as u64 * 100);
        let of = |instruction| {
            bounds(instruction, &general).map(|Bounds { address, lower, upper }| (address, lower, upper))
        };
        // asrtle.d $a0, $a2 and asrtgt.d; with a target they are none.
        assert_eq!(of(0x0001_1880), Some((400, 0, 600)));
        assert_eq!(of(0x0001_9880), Some((400, 600, u64::MAX)));
        assert_eq!(of(0x0001_9881), None);
        // ldgt.b, ldle.d, stgt.b, stle.d, fldgt.s, fstle.d.
        for greater in [0x3878_1885, 0x387c_1885, 0x3874_1885] {
            assert_eq!(of(greater), Some((400, 600, u64::MAX)), "{greater:#x}");
        }
        for less in [0x387b_9885, 0x387f_9885, 0x3877_9885] {
            assert_eq!(of(less), Some((400, 0, 600)), "{less:#x}");
        }
        assert_eq!(of(0x380c_1885), None);
    }
}
