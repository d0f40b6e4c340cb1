//! Switching the machine off.
#![expect(unsafe_code, reason = "names the device's register once, and stops the core")]

use core::arch::asm;

use super::window::DeviceRegister;

/// ACPI's sleep control register of QEMU's generic event device.
pub const SLEEP_CONTROL: u64 = 0x100e_001c;

/// Sleep type 5 (soft off) and sleep enable.
pub const SOFT_OFF: u8 = 0x34;

/// Asks the machine to switch off; the core runs on until it does.
pub fn request_off() {
    // SAFETY: QEMU's `virt` board has the register there, for byte writes; the kernel alone writes it.
    let register = unsafe { DeviceRegister::<u8>::new(SLEEP_CONTROL) };
    register.write(SOFT_OFF);
}

/// Switches the machine off; on one without the device, stops this core for good.
pub fn power_off() -> ! {
    request_off();
    loop {
        // SAFETY: waits; interrupts are off, so nothing follows.
        unsafe { asm!("idle 0", options(nomem, nostack)) };
    }
}
