use super::*;
use crate::host::Rustup;
use crate::stand_in::StandIn;

/// Offers `tool`, which needs `library`, each in the version that stands in the file of its name.
const APT_GET: &str = r#"echo "$@" >> HERE/calls
for last; do :; done
case "$*" in
*' --simulate '*)
    echo "Inst library ($(cat HERE/library) Debian:testing [loong64])"
    echo "Inst tool ($(cat HERE/tool) Debian:testing [loong64])";;
*' download '*)
    case "$last" in *=$(cat HERE/library)|*=$(cat HERE/tool)) touch "${last%%=*}_x_loong64.deb";; *) exit 100;; esac;;
esac"#;

const DPKG_DEB: &str = "echo \"$2\" > \"$3/from\"";

fn machine() -> StandIn {
    let machine = StandIn::new().with("apt-get", APT_GET).with("dpkg-deb", DPKG_DEB);
    offer(&machine, "library", "1.0");
    offer(&machine, "tool", "1:2.0");
    machine
}

fn offer(machine: &StandIn, package: &str, version: &str) {
    std::fs::write(machine.path(package), version).unwrap();
}

fn take(machine: &StandIn) -> Result<Vec<Package>> {
    let (shell, host) = (machine.shell(), machine.host(Rustup::MayNotFetch));
    Loong64::new(&shell, &host, &machine.path("setup")).with_dependencies("tool")
}

fn versions(packages: &[Package]) -> Vec<(&str, &str)> {
    packages.iter().map(|package| (package.name.as_str(), package.version.as_str())).collect()
}

#[test]
fn a_package_comes_with_what_it_needs_and_only_once() {
    let machine = machine();
    let packages = take(&machine).unwrap();
    assert_eq!(versions(&packages), [("library", "1.0"), ("tool", "1:2.0")]);
    assert!(packages.iter().all(|package| package.files.join("from").is_file()));
    let calls = machine.read("calls");
    assert!(calls.contains("APT::Architecture=loong64") && calls.contains("Dir::State::status="), "{calls}");
    offer(&machine, "tool", "3.0");
    assert_eq!(take(&machine).unwrap(), packages, "what is there is used");
    assert_eq!(machine.read("calls"), calls, "and no package command is executed");
}

#[test]
fn what_is_missing_is_taken_as_the_index_has_it_now_with_what_fits_it() {
    let machine = machine();
    let before = take(&machine).unwrap();
    std::fs::remove_dir_all(&before[1].files).unwrap();
    offer(&machine, "tool", "3.0");
    offer(&machine, "library", "1.1");
    assert_eq!(versions(&take(&machine).unwrap()), [("library", "1.1"), ("tool", "3.0")]);
}

#[test]
fn one_dependency_is_taken_without_the_rest() {
    let machine = machine();
    let (shell, host) = (machine.shell(), machine.host(Rustup::MayNotFetch));
    let loong64 = Loong64::new(&shell, &host, &machine.path("setup"));
    assert_eq!(loong64.dependency("tool", |name| name.starts_with("lib")).unwrap().version, "1.0");
    assert!(!machine.read("calls").contains("tool=1:2.0"));
    assert!(loong64.dependency("tool", |name| name == "other").is_err());
}

#[test]
fn an_interrupted_unpacking_leaves_nothing_that_counts() {
    let machine = machine();
    let machine = machine.with("dpkg-deb", "exit 1");
    let error = take(&machine).unwrap_err();
    assert!(error.to_string().contains("cannot take Debian's package tool"), "{error}");
    let machine = machine.with("dpkg-deb", DPKG_DEB);
    assert_eq!(take(&machine).unwrap().len(), 2);
}
