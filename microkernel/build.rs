//! Links the bare-metal binary as a static position-independent executable.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=kernel.ld");
    let bare_metal = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "none");
    if !bare_metal {
        return;
    }
    let Ok(folder) = std::env::var("CARGO_MANIFEST_DIR") else { return };
    // `-z notext`: jump tables and `&'static` references in read-only data are relocated too (the
    // kernel's own image is writable while it relocates itself); kernel.ld asserts that nothing but
    // relative relocations exist, and the start-up code stops at any other.
    for argument in [
        "-pie",
        "--no-dynamic-linker",
        "-znotext",
        "-znorelro",
        "-zmax-page-size=0x4000",
        "--pack-dyn-relocs=none",
        "--hash-style=sysv",
        "--build-id=none",
        "--no-eh-frame-hdr",
        // The image tool moves the debug information along with the kernel, and must know its addresses.
        // lld keeps the relocations of debug sections only if it relaxes nothing (rustc asks for nothing).
        "--emit-relocs",
        "--no-relax",
    ] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
    println!("cargo::rustc-link-arg-bins=-T{folder}/kernel.ld");
}
