//! THE table of invocations: methods of kernel objects, invoked by Call (C-1, C-2).
//!
//! A method's number is the label of the message. Its capability arguments travel in the IPC
//! buffer's `caps`, its words as message words, both in the order of the row. The answer comes from
//! the kernel ([`crate::MessageInfo::is_from_kernel`]): label 0 and the values of the row, or an
//! [`crate::Error`] with its details. Slots are named as in seL4: the CNode that is invoked or given,
//! an index in it, and the depth in bits, 1 to 64 (else `RangeError`).
//!
//! A row lists the errors that are its own. Besides, any method may answer `IllegalOperation`,
//! `NotImplemented`, `TruncatedMessage`, `NoIpcBuffer`, and for a capability argument `InvalidCapability`
//! and the failures of its lookup.

/// Calls `$callback!` with every method, a row each:
/// `Name: Object.Method = number, state, caps(names…), words(names…) -> (values…), [errors…], "what it does";`
/// where state is `built` or `planned` (answers `NotImplemented`).
#[macro_export]
macro_rules! for_each_invocation {
    ($callback:ident) => {
        $callback! {
            UntypedRetype: Untyped.Retype = 0x101, built, caps(root), words(object_type, size_bits, node_index, node_depth, first_slot, count) -> (),
                [InvalidArgument, RangeError, NotEnoughMemory, SlotOccupied, LookupFailed],
                "Makes `count` objects of one type and puts their capabilities into consecutive slots.";

            CNodeCopy: CNode.Copy = 0x201, built, caps(source_root), words(index, depth, source_index, source_depth, rights) -> (),
                [LookupFailed, RangeError, SlotOccupied, SlotEmpty, RevokeFirst, InvalidArgument], "Copies a capability, with at most `rights`.";
            CNodeMint: CNode.Mint = 0x202, built, caps(source_root), words(index, depth, source_index, source_depth, rights, badge) -> (),
                [LookupFailed, RangeError, SlotOccupied, SlotEmpty, RevokeFirst, InvalidArgument], "Copy that sets a badge, or a CNode's guard.";
            CNodeMove: CNode.Move = 0x203, built, caps(source_root), words(index, depth, source_index, source_depth) -> (),
                [LookupFailed, RangeError, SlotOccupied, SlotEmpty], "Moves a capability.";
            CNodeMutate: CNode.Mutate = 0x204, built, caps(source_root), words(index, depth, source_index, source_depth, badge) -> (),
                [LookupFailed, RangeError, SlotOccupied, SlotEmpty, InvalidArgument], "Move that sets a CNode's guard; a badge is set by Mint alone.";
            CNodeRotate: CNode.Rotate = 0x205, built, caps(pivot_root, source_root), words(index, depth, pivot_badge, pivot_index, pivot_depth, source_badge, source_index, source_depth) -> (),
                [LookupFailed, RangeError, SlotOccupied, SlotEmpty, InvalidArgument], "Moves pivot to destination and source to pivot at once.";
            CNodeDelete: CNode.Delete = 0x206, built, caps(), words(index, depth) -> (), [LookupFailed, RangeError], "Empties a slot; the last capability takes the object with it.";
            CNodeRevoke: CNode.Revoke = 0x207, built, caps(), words(index, depth) -> (), [LookupFailed, RangeError], "Deletes every capability derived from this one.";
            CNodeCancelBadgedSends: CNode.CancelBadgedSends = 0x208, built, caps(), words(index, depth) -> (), [LookupFailed, RangeError, MissingRight], "Ends the waiting sends of this badge.";

            TcbConfigure: Tcb.Configure = 0x301, built, caps(cspace, vspace, buffer_frame), words(cspace_guard) -> (), [InvalidCapability, InvalidArgument, InvalidState, AlreadyBound], "SetSpace and SetIpcBuffer in one call; a null `buffer_frame` takes the buffer away.";
            TcbSetSpace: Tcb.SetSpace = 0x302, built, caps(fault_handler, cspace, vspace), words(cspace_guard) -> (), [InvalidCapability, InvalidArgument, InvalidState, AlreadyBound], "Sets fault endpoint, capability space and address space.";
            TcbSetPriority: Tcb.SetPriority = 0x303, built, caps(authority), words(priority) -> (), [InvalidCapability, RangeError], "Sets the priority, at most the authority's maximum.";
            TcbSetMCPriority: Tcb.SetMCPriority = 0x304, built, caps(authority), words(priority) -> (), [InvalidCapability, RangeError], "Sets the maximum controlled priority.";
            TcbSetSchedParams: Tcb.SetSchedParams = 0x305, built, caps(authority, sched_context, fault_handler), words(max_priority, priority) -> (), [InvalidCapability, RangeError, AlreadyBound], "Sets priorities, scheduling context and fault endpoint in one call.";
            TcbSetIpcBuffer: Tcb.SetIpcBuffer = 0x306, built, caps(buffer_frame), words() -> (), [InvalidCapability, InvalidArgument], "Pins the 16 KiB Frame of long messages; a null capability takes it away.";
            TcbSetTlsBase: Tcb.SetTlsBase = 0x307, built, caps(), words(address) -> (), [], "Sets `$tp`.";
            TcbSetTimeoutEndpoint: Tcb.SetTimeoutEndpoint = 0x308, planned, caps(endpoint), words() -> (), [NotImplemented], "Sets who receives timeout faults.";
            TcbReadRegisters: Tcb.ReadRegisters = 0x309, built, caps(), words(first, count) -> (), [RangeError, InvalidState], "Answers `count` registers from `first` on; register 0 is the pc. Refused of a host whose program runs (C-28), as the two methods that follow.";
            TcbWriteRegisters: Tcb.WriteRegisters = 0x30a, built, caps(), words(resume, first) -> (), [RangeError, InvalidState, TruncatedMessage], "Writes the words that follow as registers from `first` on; register 0 is the pc; `resume` 1 resumes.";
            TcbCopyRegisters: Tcb.CopyRegisters = 0x30b, built, caps(source), words(flags) -> (), [InvalidCapability, InvalidArgument, InvalidState], "Copies registers from another thread: flag 0 suspends the source, 1 resumes the target, 2 copies pc, sp, fp and callee-saved, 3 the rest.";
            TcbSuspend: Tcb.Suspend = 0x30c, built, caps(), words() -> (), [], "Stops the thread. What it waits for it goes on waiting for when it is resumed (CASES 7); a send begins anew.";
            TcbResume: Tcb.Resume = 0x30d, built, caps(), words() -> (), [], "Makes a stopped thread runnable.";
            TcbBindNotification: Tcb.BindNotification = 0x30e, built, caps(notification), words() -> (), [InvalidCapability, AlreadyBound, MissingRight], "Lets the thread receive the notification while it waits at an endpoint.";
            TcbUnbindNotification: Tcb.UnbindNotification = 0x30f, built, caps(), words() -> (), [NotBound], "Undoes BindNotification.";
            TcbConfigureHost: Tcb.ConfigureHost = 0x310, built, caps(host), words(block, system_call, fault, interrupted, own_fault) -> (), [InvalidCapability, InvalidState], "Makes the thread a host's, with its per-core block and four entries (C-20); it runs in the host's upper half and has no current context.";

            ReplySend: Reply.Send = 0x501, planned, caps(), words() -> (), [NotImplemented], "Send on a Reply capability is the operation Send; this number only names it.";

            SchedContextBind: SchedContext.Bind = 0x701, built, caps(object), words() -> (), [InvalidCapability, AlreadyBound], "Gives the context to a thread.";
            SchedContextUnbind: SchedContext.Unbind = 0x702, built, caps(), words() -> (), [NotBound], "Takes the context from whatever has it.";
            SchedContextUnbindObject: SchedContext.UnbindObject = 0x703, planned, caps(object), words() -> (), [NotImplemented], "Takes the context from this thread or notification.";
            SchedContextConsumed: SchedContext.Consumed = 0x704, planned, caps(), words() -> (time), [NotImplemented], "Time used since the last call, in ns.";
            SchedContextYieldTo: SchedContext.YieldTo = 0x705, planned, caps(), words() -> (time), [NotImplemented], "Runs the context's thread if priorities allow.";
            SchedControlConfigure: SchedControl.Configure = 0x801, built, caps(sched_context), words(budget_ns, period_ns, extra_refills, badge) -> (), [InvalidCapability, RangeError, NotImplemented], "Sets budget and period on the capability's core.";

            AsidControlMakePool: AsidControl.MakePool = 0x901, built, caps(untyped, root), words(index, depth) -> (), [InvalidCapability, NotEnoughMemory, NoAsid, SlotOccupied, LookupFailed, RangeError, RevokeFirst], "Makes a pool of 512 from an Untyped of 4 KiB.";
            AsidPoolAssign: AsidPool.Assign = 0xa01, built, caps(vspace), words() -> (), [InvalidCapability, NoAsid, AlreadyBound], "Gives a lower-half VSpace an identifier, without which nothing runs in it.";

            PageTableMap: PageTable.Map = 0xb01, built, caps(vspace), words(address) -> (), [InvalidCapability, NoAsid, AlreadyMapped, RangeError], "Puts the table at the first missing level of `address`.";
            PageTableUnmap: PageTable.Unmap = 0xb02, built, caps(), words() -> (), [NotMapped, InvalidState], "Takes an empty or filled table out of its space, or a free one back out of a stock (C-41).";
            FrameMap: Frame.Map = 0xc01, built, caps(vspace), words(address, rights, attributes) -> (), [InvalidCapability, NoAsid, AlreadyMapped, NoPageTable, AlignmentError, RangeError, InvalidArgument], "Maps the frame; attribute 0 forbids execution, 1 makes it uncached.";
            FrameUnmap: Frame.Unmap = 0xc02, built, caps(), words() -> (), [NotMapped], "Unmaps the frame.";
            FrameGetAddress: Frame.GetAddress = 0xc03, built, caps(), words() -> (physical_address), [], "The frame's physical address.";
            VSpaceBindWindow: VSpace.BindWindow = 0xd01, built, caps(frame), words(window) -> (), [InvalidCapability, MissingRight, RangeError, AlreadyBound, NoAsid, InvalidState], "Binds a Frame as window 0 to 7; a null capability takes the window away, with all that it shows (C-41).";
            VSpaceGiveTables: VSpace.GiveTables = 0xd02, built, caps(root), words(index, depth, count) -> (done), [RangeError, LookupFailed, InvalidCapability, AlreadyMapped, NoAsid, InvalidState], "Gives the PageTables in consecutive slots to the stock; a refusal's word 0 is how many were given.";
            VSpaceMapMany: VSpace.MapMany = 0xd03, built, caps(), words(entries, first, second) -> (done, pages), [RangeError, NoIpcBuffer, InvalidArgument, NotBound, MissingRight, AlreadyMapped, NoPageTable, NeedTable, NoAsid, InvalidState], "Maps, protects or unmaps runs of pages: `entries` of the IPC buffer's list, or 0 and the one in the words. Answers entries done and pages of the next, in a refusal too; it may stop early (C-41).";

            IrqControlGet: IrqControl.Get = 0xe01, built, caps(root), words(irq, index, depth) -> (), [RangeError, AlreadyBound, LookupFailed, SlotOccupied], "Makes the handler of one interrupt line.";
            IrqHandlerAck: IrqHandler.Ack = 0xf01, built, caps(), words() -> (), [], "Lets the interrupt come again.";
            IrqHandlerSetNotification: IrqHandler.SetNotification = 0xf02, built, caps(notification), words() -> (), [InvalidCapability, MissingRight], "Sets which notification the interrupt signals.";
            IrqHandlerClear: IrqHandler.Clear = 0xf03, built, caps(), words() -> (), [], "Undoes SetNotification.";

            TimerArm: Timer.Arm = 0x1001, built, caps(notification), words(deadline_ns) -> (), [InvalidCapability, MissingRight], "Signals the notification once, when the counter has come to that time since it was 0: at once if it has. What it was armed for before is forgotten.";
            TimerCancel: Timer.Cancel = 0x1002, built, caps(), words() -> (), [], "Forgets deadline and notification.";
            HostControlAssignUpper: HostControl.AssignUpper = 0x1101, built, caps(vspace), words() -> (), [InvalidCapability, AlreadyBound, NoAsid], "Makes a VSpace an upper half (C-43).";
            HostConfigure: Host.Configure = 0x1201, built, caps(control, vspace, contexts), words() -> (), [InvalidCapability, InvalidArgument, InvalidState], "Gives a host its upper half and its contexts Frame, once (C-20).";
            HostSetSpace: Host.SetSpace = 0x1202, built, caps(vspace), words(context) -> (), [InvalidCapability, NoAsid, AlreadyBound, RangeError, InvalidState], "Sets a context's address space, a lower half that is no other host's; null takes it away.";

            DebugPutChar: Debug.PutChar = 0x1301, built, caps(), words(byte) -> (), [InvalidArgument], "Writes one byte to the log.";
            DebugHalt: Debug.Halt = 0x1302, built, caps(), words() -> (), [], "Powers the machine off.";
            DebugNameThread: Debug.NameThread = 0x1303, built, caps(thread), words(first, second) -> (), [InvalidCapability], "Names a thread for the log: 16 bytes, zero-padded.";
            DebugSnapshot: Debug.Snapshot = 0x1304, planned, caps(), words() -> (), [NotImplemented], "Checks the kernel's invariants.";
            DebugDumpScheduler: Debug.DumpScheduler = 0x1305, built, caps(), words() -> (), [], "Logs every runnable thread.";
        }
    };
}

macro_rules! is_built {
    (built) => {
        true
    };
    (planned) => {
        false
    };
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// `Object.Method`.
    pub name: &'static str,
    /// The method; its number is the message's label.
    pub method: Method,
    /// The type of object that has the method.
    pub object: crate::ObjectType,
    /// False: answers [`crate::Error::NotImplemented`].
    pub built: bool,
    /// Names of the capability arguments.
    pub caps: &'static [&'static str],
    /// Names of the word arguments.
    pub words: &'static [&'static str],
    /// Names of the values of the answer.
    pub values: &'static [&'static str],
    /// The errors that are the method's own.
    pub errors: &'static [crate::Error],
    /// One sentence.
    pub doc: &'static str,
}

macro_rules! define_methods {
    ($($name:ident: $object:ident.$method:ident = $number:literal, $state:ident, caps($($cap:ident),*), words($($word:ident),*) -> ($($value:ident),*), [$($error:ident),*], $doc:literal;)*) => {
        /// A method of a kernel object; its number is the label of the Call.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u64)]
        pub enum Method { $(#[doc = $doc] $name = $number,)* }

        /// Every method, in the order of the table.
        pub const TABLE: &[Row] = &[$(*Method::$name.row()),*];

        impl Method {
            /// The method that a label names, if there is one.
            pub const fn from_label(label: u64) -> Option<Self> {
                match label { $($number => Some(Self::$name),)* _ => None }
            }

            /// The label that names the method.
            pub const fn label(self) -> u64 {
                match self { $(Self::$name => $number,)* }
            }

            /// The method's row of the table.
            pub const fn row(self) -> &'static Row {
                match self { $(Self::$name => &Row {
                    name: concat!(stringify!($object), ".", stringify!($method)),
                    method: Self::$name,
                    object: crate::ObjectType::$object,
                    built: is_built!($state),
                    caps: &[$(stringify!($cap)),*],
                    words: &[$(stringify!($word)),*],
                    values: &[$(stringify!($value)),*],
                    errors: &[$(crate::Error::$error),*],
                    doc: $doc,
                },)* }
            }
        }
    };
}
for_each_invocation!(define_methods);
