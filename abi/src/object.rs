//! The kernel's object types and their sizes (C-1).

/// Calls `$callback!` with every type: `Name = number, size, "what it is";`, where size is
/// `fixed(bits)`, `variable(min bits, max bits)`, or `none` for what is not retyped from Untyped.
#[macro_export]
macro_rules! for_each_object_type {
    ($callback:ident) => {
        $callback! {
            Untyped = 1, variable(6, 36), "Memory to retype from.";
            CNode = 2, variable(6, 36), "An array of two capability slots or more, of 32 bytes each; size bits = slots' bits + 5.";
            Tcb = 3, fixed(10), "A thread.";
            Endpoint = 4, fixed(6), "Where threads meet to pass messages.";
            Reply = 5, fixed(6), "Stands for one caller that waits for its answer.";
            Notification = 6, fixed(6), "A word of badge bits that one may wait for.";
            SchedContext = 7, fixed(8), "Budget and period: the right to run.";
            SchedControl = 8, none, "The right to configure scheduling contexts of one core.";
            AsidControl = 9, none, "The right to make ASID pools.";
            AsidPool = 10, fixed(12), "512 address-space identifiers to assign.";
            PageTable = 11, fixed(14), "One table of 2048 entries below the root.";
            Frame = 12, variable(14, 36), "Memory to map or to pin.";
            VSpace = 13, fixed(15), "An address space: its root table and what belongs to it.";
            IrqControl = 14, none, "The right to make handlers of interrupts.";
            IrqHandler = 15, none, "One interrupt.";
            Timer = 16, fixed(7), "A deadline that signals a notification.";
            HostControl = 17, none, "The right to make upper halves and hosts (C-20).";
            Host = 18, variable(9, 31), "Hosted contexts; size bits = the contexts Frame's minus 5.";
            Debug = 19, none, "Log, halt and look inside; debug builds only.";
        }
    };
}

/// How large an object may be, in bits of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectSize {
    /// Always this size.
    Fixed(u8),
    /// Chosen at Retype, from the first to the second.
    Variable(u8, u8),
    /// Not made by Retype.
    None,
}

macro_rules! size_of_row {
    (fixed($bits:literal)) => {
        ObjectSize::Fixed($bits)
    };
    (variable($min:literal, $max:literal)) => {
        ObjectSize::Variable($min, $max)
    };
    (none) => {
        ObjectSize::None
    };
}

macro_rules! define_objects {
    ($($name:ident = $number:literal, $size:ident $(($($arg:literal),*))?, $doc:literal;)*) => {
        /// A type of kernel object.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u64)]
        pub enum ObjectType { $(#[doc = $doc] $name = $number,)* }

        impl ObjectType {
            /// Every type, in the order of the table.
            pub const ALL: &'static [ObjectType] = &[$(ObjectType::$name),*];

            /// The type that a word names.
            pub const fn from_raw(raw: u64) -> Option<Self> {
                match raw { $($number => Some(Self::$name),)* _ => None }
            }

            /// The word that names the type.
            pub const fn raw(self) -> u64 {
                match self { $(Self::$name => $number,)* }
            }

            /// How large an object of the type may be.
            pub const fn size(self) -> ObjectSize {
                match self { $(Self::$name => size_of_row!($size $(($($arg),*))?),)* }
            }
        }
    };
}
for_each_object_type!(define_objects);

/// Base-2 logarithm of a capability slot's bytes.
pub const SLOT_BITS: u8 = 5;
/// Address-space identifiers in one pool.
pub const ASIDS_PER_POOL: usize = 512;
