//! Owns which packages are built for which machine.

/// Packages for the guest, each with a program or for one; `None` stands for all of its features off.
pub(crate) const GUEST: &[&str] = &["microkernel"];

/// Packages whose tests run on the developer's machine.
pub(crate) const HOST: &[&str] =
    &["abi", "microkernel", "loader", "image", "machine", "counter", "report", "xtask"];

/// Returns `-p NAME` for each package.
pub(crate) fn options(packages: &[&str]) -> Vec<String> {
    packages.iter().flat_map(|package| ["-p".to_owned(), (*package).to_owned()]).collect()
}
