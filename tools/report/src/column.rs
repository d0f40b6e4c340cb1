//! Owns what is reported of each sample.

use counter::line::Sample;
use serde::{Deserialize, Serialize};

/// One figure of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// Instructions of the kernel, its TLB refill handler included.
    Kernel,
    /// Instructions of the TLB refill handler alone.
    Refill,
    /// Instructions of hosts.
    Host,
    /// Both together: what a hosted program's operation costs.
    System,
    /// Instructions of servers and programs.
    User,
    /// Instructions that read memory, anybody's.
    Loads,
    /// The kernel's among them.
    KernelLoads,
    /// Instructions that write memory, anybody's.
    Stores,
    /// The kernel's among them.
    KernelStores,
    /// CSR accesses, anybody's.
    Csr,
    /// The kernel's among them.
    KernelCsr,
}

impl Column {
    /// Every column, in the order of tables.
    pub const ALL: [Self; 11] = [
        Self::Kernel,
        Self::Refill,
        Self::Host,
        Self::System,
        Self::User,
        Self::Loads,
        Self::KernelLoads,
        Self::Stores,
        Self::KernelStores,
        Self::Csr,
        Self::KernelCsr,
    ];

    /// Returns the column's name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Refill => "refill",
            Self::Host => "host",
            Self::System => "system",
            Self::User => "user",
            Self::Loads => "loads",
            Self::KernelLoads => "kernel_loads",
            Self::Stores => "stores",
            Self::KernelStores => "kernel_stores",
            Self::Csr => "csr",
            Self::KernelCsr => "kernel_csr",
        }
    }

    /// Returns this column's value in a sample.
    #[must_use]
    pub fn of(self, sample: &Sample) -> u64 {
        match self {
            Self::Kernel => sample.kernel + sample.phys,
            Self::Refill => sample.phys,
            Self::Host => sample.host,
            Self::System => sample.kernel + sample.phys + sample.host,
            Self::User => sample.user,
            Self::Loads => sample.loads.total,
            Self::KernelLoads => sample.loads.kernel,
            Self::Stores => sample.stores.total,
            Self::KernelStores => sample.stores.kernel,
            Self::Csr => sample.csr.total,
            Self::KernelCsr => sample.csr.kernel,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files() {
        for column in Column::ALL {
            assert_eq!(serde_json::to_value(column).unwrap(), column.name());
        }
    }
}
