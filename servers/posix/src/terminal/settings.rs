//! A terminal's settings: what termios(3) calls them, and Linux's four layouts of them.
//!
//! Numbers are asm-generic's, which LoongArch uses.

use bitflags::bitflags;
use zerocopy::{FromBytes, Immutable, IntoBytes};

bitflags! {
    /// What is done to characters as they come in (c_iflag).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct InputModes: u32 {
        /// Breaks are ignored.
        const IGNBRK = 0o1;
        /// A break is an interrupt.
        const BRKINT = 0o2;
        /// Characters with wrong parity are ignored.
        const IGNPAR = 0o4;
        /// Wrong parity and breaks are marked.
        const PARMRK = 0o10;
        /// Parity is checked.
        const INPCK = 0o20;
        /// The eighth bit is taken off.
        const ISTRIP = 0o40;
        /// Newline becomes carriage return.
        const INLCR = 0o100;
        /// Carriage return is ignored.
        const IGNCR = 0o200;
        /// Carriage return becomes newline.
        const ICRNL = 0o400;
        /// Upper case becomes lower case.
        const IUCLC = 0o1000;
        /// STOP and START hold the output and let it go.
        const IXON = 0o2000;
        /// Any character lets the output go.
        const IXANY = 0o4000;
        /// The other side is told to stop when the queue is full.
        const IXOFF = 0o1_0000;
        /// The bell rings when the queue is full.
        const IMAXBEL = 0o2_0000;
        /// Characters are UTF-8: erasing takes whole ones.
        const IUTF8 = 0o4_0000;
        const _ = !0;
    }
}

bitflags! {
    /// What is done to characters as they go out (c_oflag).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct OutputModes: u32 {
        /// Anything at all.
        const OPOST = 0o1;
        /// Lower case becomes upper case.
        const OLCUC = 0o2;
        /// Newline becomes carriage return and newline.
        const ONLCR = 0o4;
        /// Carriage return becomes newline.
        const OCRNL = 0o10;
        /// No carriage return in the first column.
        const ONOCR = 0o20;
        /// Newline returns the carriage too.
        const ONLRET = 0o40;
        /// Tabs become spaces.
        const XTABS = 0o1_4000;
        const _ = !0;
    }
}

bitflags! {
    /// What the line discipline does (c_lflag).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct LocalModes: u32 {
        /// Some characters are signals.
        const ISIG = 0o1;
        /// Input is lines, which can be edited.
        const ICANON = 0o2;
        /// Input is shown.
        const ECHO = 0o10;
        /// ERASE shows as an erased character.
        const ECHOE = 0o20;
        /// KILL shows as a new line.
        const ECHOK = 0o40;
        /// Newline is shown even without ECHO.
        const ECHONL = 0o100;
        /// Signals leave the queues alone.
        const NOFLSH = 0o200;
        /// Background processes that write are stopped.
        const TOSTOP = 0o400;
        /// Control characters show as ^X.
        const ECHOCTL = 0o1000;
        /// Erased characters are shown again, backwards.
        const ECHOPRT = 0o2000;
        /// KILL shows as all characters erased.
        const ECHOKE = 0o4000;
        /// Output is thrown away.
        const FLUSHO = 0o1_0000;
        /// Input will be shown again.
        const PENDIN = 0o4_0000;
        /// WERASE, LNEXT, REPRINT, EOL2, IUCLC are looked at.
        const IEXTEN = 0o10_0000;
        /// Somebody else edits lines.
        const EXTPROC = 0o20_0000;
        const _ = !0;
    }
}

/// Special characters, by their place in c_cc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// SIGINT.
    Interrupt = 0,
    /// SIGQUIT.
    Quit = 1,
    /// Erases a character.
    Erase = 2,
    /// Erases the line.
    Kill = 3,
    /// Ends the line without being part of it.
    EndOfFile = 4,
    /// Not a character: tenths of a second (VTIME).
    Time = 5,
    /// Not a character: how many make a read return (VMIN).
    Minimum = 6,
    /// Lets the output go.
    Start = 8,
    /// Holds the output.
    Stop = 9,
    /// SIGTSTP.
    Suspend = 10,
    /// Ends the line.
    EndOfLine = 11,
    /// Shows the line again.
    Reprint = 12,
    /// Erases a word.
    WordErase = 14,
    /// The next character is none of these.
    LiteralNext = 15,
    /// Ends the line too.
    EndOfLine2 = 16,
}

/// The number of c_cc's elements.
pub const CHARACTERS: usize = 19;
/// The character that no function has: 0.
pub const DISABLED: u8 = 0;

/// Parts of c_cflag.
mod control {
    /// The output speed.
    pub(super) const SPEED: u32 = 0o1_0017;
    /// A speed without a number of its own.
    pub(super) const OTHER: u32 = 0o1_0000;
    /// How far the input speed lies behind the output speed.
    pub(super) const INPUT_SHIFT: u32 = 16;
    /// Eight bits a character.
    pub(super) const CS8: u32 = 0o60;
    /// Bits of a character's size.
    pub(super) const SIZE: u32 = 0o60;
    /// The receiver is on.
    pub(super) const CREAD: u32 = 0o200;
    /// Parity.
    pub(super) const PARENB: u32 = 0o400;
    /// 38,400 baud.
    pub(super) const B38400: u32 = 0o17;
}

/// Speeds by their numbers in c_cflag: those below 16, then those with bit 12.
const SLOW: [u32; 16] = [0, 50, 75, 110, 134, 150, 200, 300, 600, 1200, 1800, 2400, 4800, 9600, 19200, 38400];
const FAST: [u32; 15] = [
    57600, 115_200, 230_400, 460_800, 500_000, 576_000, 921_600, 1_000_000, 1_152_000, 1_500_000, 2_000_000,
    2_500_000, 3_000_000, 3_500_000, 4_000_000,
];

/// All of a terminal's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// c_iflag.
    pub input: InputModes,
    /// c_oflag.
    pub output: OutputModes,
    /// c_cflag.
    pub control: u32,
    /// c_lflag.
    pub local: LocalModes,
    /// c_line; nothing looks at it.
    pub line: u8,
    /// c_cc.
    pub characters: [u8; CHARACTERS],
    /// Baud in.
    pub input_speed: u32,
    /// Baud out.
    pub output_speed: u32,
}

/// Linux's `struct termios`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Termios {
    modes: [u32; 4],
    line: u8,
    characters: [u8; CHARACTERS],
}

/// Linux's `struct termios2`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Termios2 {
    old: Termios,
    input_speed: u32,
    output_speed: u32,
}

/// Linux's `struct termio`, without the padding behind it, which no call touches.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C, packed)]
pub struct Termio {
    modes: [u16; 4],
    line: u8,
    characters: [u8; 8],
}

const _: () = assert!(size_of::<Termios>() == 36 && size_of::<Termios2>() == 44 && size_of::<Termio>() == 17);
#[cfg(target_arch = "loongarch64")]
const _: () = assert!(
    size_of::<Termios>() == size_of::<linux_raw_sys::general::termios>()
        && size_of::<Termios2>() == size_of::<linux_raw_sys::general::termios2>()
);

impl Settings {
    /// What a terminal begins with: cooked, echoing, signals on, at 38,400 baud.
    pub const USUAL: Self = Self {
        input: InputModes::ICRNL.union(InputModes::IXON),
        output: OutputModes::OPOST.union(OutputModes::ONLCR),
        control: control::B38400 | control::CS8 | control::CREAD,
        local: LocalModes::ISIG
            .union(LocalModes::ICANON)
            .union(LocalModes::ECHO)
            .union(LocalModes::ECHOE)
            .union(LocalModes::ECHOK)
            .union(LocalModes::ECHOCTL)
            .union(LocalModes::ECHOKE)
            .union(LocalModes::IEXTEN),
        line: 0,
        characters: [3, 0o34, 0o177, 0o25, 4, 0, 1, 0, 0o21, 0o23, 0o32, 0, 0o22, 0o17, 0o27, 0o26, 0, 0, 0],
        input_speed: 38400,
        output_speed: 38400,
    };

    /// A special character's value.
    #[inline]
    pub fn character(&self, which: Special) -> u8 {
        self.characters.get(which as usize).copied().unwrap_or(DISABLED)
    }

    /// Whether a character has a function; 0 has none but where a test asks for it by value.
    #[inline]
    pub fn is(&self, which: Special, character: u8) -> bool {
        self.character(which) == character
    }

    /// As TCGETS tells it.
    pub const fn to_termios(&self) -> Termios {
        let modes = [self.input.bits(), self.output.bits(), self.control, self.local.bits()];
        Termios { modes, line: self.line, characters: self.characters }
    }

    /// As TCGETS2 tells it.
    pub const fn to_termios2(&self) -> Termios2 {
        Termios2 { old: self.to_termios(), input_speed: self.input_speed, output_speed: self.output_speed }
    }

    /// As TCGETA tells it: the lower halves, and the first characters.
    pub fn to_termio(&self) -> Termio {
        let Termios { modes, line, characters } = self.to_termios();
        let mut short = [0; 8];
        for (place, character) in short.iter_mut().zip(characters) {
            *place = character;
        }
        Termio { modes: modes.map(|mode| u16::try_from(mode & 0xffff).unwrap_or(0)), line, characters: short }
    }

    /// With what TCSETS gives.
    #[must_use]
    pub fn with_termios(&self, new: &Termios) -> Self {
        let [input, output, control, local] = new.modes;
        Self {
            input: InputModes::from_bits_retain(input),
            output: OutputModes::from_bits_retain(output),
            control,
            local: LocalModes::from_bits_retain(local),
            line: new.line,
            characters: new.characters,
            ..*self
        }
        .with_speeds()
    }

    /// With what TCSETS2 gives.
    #[must_use]
    pub fn with_termios2(&self, new: &Termios2) -> Self {
        Self { input_speed: new.input_speed, output_speed: new.output_speed, ..*self }.with_termios(&new.old)
    }

    /// With what TCSETA gives.
    #[must_use]
    pub fn with_termio(&self, new: &Termio) -> Self {
        let Termios { modes: [input, output, control, local], mut characters, .. } = self.to_termios();
        let Termio { modes: [new_input, new_output, new_control, new_local], line, characters: short } = *new;
        for (place, character) in characters.iter_mut().zip(short) {
            *place = character;
        }
        let low = |old: u32, new: u16| old & 0xffff_0000 | u32::from(new);
        let modes = [
            low(input, new_input),
            low(output, new_output),
            low(control, new_control),
            low(local, new_local),
        ];
        self.with_termios(&Termios { modes, line, characters })
    }

    /// The speeds that c_cflag names; a speed of its own stays as it was given.
    fn with_speeds(self) -> Self {
        let output_speed = speed(self.control & control::SPEED).unwrap_or(self.output_speed);
        let input = self.control >> control::INPUT_SHIFT & control::SPEED;
        // An input speed of 0 is the output speed.
        let input_speed = if input == 0 { output_speed } else { speed(input).unwrap_or(self.input_speed) };
        Self { input_speed, output_speed, ..self }
    }

    /// What a line without wires makes of settings: eight bits, no parity, always receiving.
    #[must_use]
    pub const fn without_wires(self) -> Self {
        let kept = self.control & !(control::SIZE | control::PARENB);
        Self { control: kept | control::CS8 | control::CREAD, ..self }
    }
}

/// The baud of a speed's number; `None` for BOTHER and for numbers that are none.
fn speed(number: u32) -> Option<u32> {
    let low = crate::number::index(number & 0o17);
    if number & control::OTHER == 0 {
        return SLOW.get(low).copied();
    }
    if number == control::OTHER { None } else { FAST.get(low - 1).copied() }
}
