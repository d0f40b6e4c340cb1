//! Links the host with the runtime's linker script (C-44).

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../servers/runtime/upper.ld");
    let bare_metal = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "none");
    let Ok(folder) = std::env::var("CARGO_MANIFEST_DIR") else { return };
    if bare_metal {
        let script = format!("-T{folder}/../../servers/runtime/upper.ld");
        for argument in ["-static", "--no-pie", "-zmax-page-size=0x4000", "--build-id=none", &script] {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
}
