//! Whether an image fits the machine that its description asks for (CASES 43).

use crate::machine::{BOOT_TABLES_END, LoadAddress, memory_ranges};
use crate::mistake::{At, Mistake};
use crate::source::show_bytes;
use crate::system::System;

/// Refuses an image that does not lie in memory, and servers that are promised more than there is.
pub(crate) fn check(system: &System, load: LoadAddress, image_bytes: u64) -> Result<(), Mistake> {
    let memory = system.memory.value;
    let start = load.physical();
    if start < BOOT_TABLES_END {
        return Err(Mistake::new(format!("the load address {start:#x} is too low"))
            .help(format!("QEMU keeps its boot tables there; the lowest is {BOOT_TABLES_END:#x}")));
    }
    let end = start.saturating_add(image_bytes);
    let ranges = memory_ranges(memory);
    if !ranges.iter().any(|range| range.start <= start && end <= range.end) {
        let list: Vec<String> = ranges
            .iter()
            .filter(|range| !range.is_empty())
            .map(|range| format!("{:#x} to {:#x}", range.start, range.end))
            .collect();
        return Err(Mistake::new(format!(
            "the image of {} does not fit into memory at {start:#x}",
            show_bytes(image_bytes)
        ))
        .at(&system.memory.span, format!("the machine has {}", show_bytes(memory)))
        .help(format!(
            "it would end at {end:#x}, and memory is {}: give the machine more, or load the image elsewhere",
            list.join(" and ")
        )));
    }
    check_promises(system, image_bytes)
}

fn check_promises(system: &System, image_bytes: u64) -> Result<(), Mistake> {
    let memory = system.memory.value;
    let promised = system.servers.iter().filter_map(|server| {
        let host = server.host.as_ref().map(|host| At { value: host.least_bytes(), span: host.span.clone() });
        server.memory.clone().or(host)
    });
    let total = promised.clone().fold(0_u64, |sum, amount| sum.saturating_add(amount.value));
    let available = memory.saturating_sub(BOOT_TABLES_END).saturating_sub(image_bytes);
    if total <= available {
        return Ok(());
    }
    let mistake = Mistake::new(format!(
        "the servers are promised {}, and the machine has {} left for them",
        show_bytes(total),
        show_bytes(available)
    ));
    let mistake = mistake.at(&system.memory.span, format!("{} in all", show_bytes(memory)));
    let mistake = promised.fold(mistake, |mistake, amount| {
        mistake.at(&amount.span, format!("{} of it", show_bytes(amount.value)))
    });
    Err(mistake.help("give the machine more memory, or the servers less"))
}
