//! Building one server: spaces, image, stack, thread and time; [`given`] has what its description grants, [`host`]
//! what is different in a host.

mod given;
mod host;

use abi::description::Server;
use abi::server::{
    CNODE_RADIX, IPC_BUFFER_ADDRESS, ImageSegment, RINGS_ADDRESS, SERVER_INFO_ADDRESS, STACK_BYTES,
    STACK_TOP, slot,
};
use abi::{CPtr, ObjectType, PAGE_BYTES, Rights};
use core::fmt;
use loader::{ElfError, Program, SegmentAccess};
use runtime::InvocationError;
use runtime::memory::{DEPTH, Memory};
use runtime::space::{Access, make_space, map, map_new_page};
use runtime::stubs::{CNode, Endpoint, SchedContext, Tcb, VSpace};
use runtime::thread::{Start, Thread, Time, guard, make_thread, make_time};

use crate::boot::{ASIDS, Boot, CNODE, SCHED_CONTROL, TCB};
use crate::image::{bytes_of, filled_page};
use crate::information::Information;
use crate::parts::{Owner, Parts};
use crate::territory::Territory;

/// Bytes for a server's kernel objects and page tables, beside the pages of its image and stack: a CNode of
/// 128 KiB, a VSpace of 32 KiB, and up to 22 tables.
const OBJECT_BYTES: u64 = 0x8_0000;

/// Where a server has what root maps for it, beside its image.
#[derive(Clone, Copy, Debug)]
struct Places {
    information: u64,
    ipc_buffer: u64,
    stack_top: u64,
    rings: u64,
}

/// An ordinary server's.
const PLACES: Places = Places {
    information: SERVER_INFO_ADDRESS,
    ipc_buffer: IPC_BUFFER_ADDRESS,
    stack_top: STACK_TOP,
    rings: RINGS_ADDRESS,
};

/// Why a server could not be built.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SpawnError {
    /// The archive has no such program.
    NoProgram,
    /// The program is none.
    Elf(ElfError),
    /// It was built anew this often already.
    TooOften(u64),
    /// The kernel refused a step.
    Kernel(&'static str, InvocationError),
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProgram => f.write_str("its program is not in the boot archive"),
            Self::Elf(mistake) => write!(f, "its program: {mistake}"),
            Self::TooOften(times) => write!(f, "it was built anew {times} times already"),
            Self::Kernel(step, refusal) => write!(f, "{step}: {refusal}"),
        }
    }
}

/// Names the step that the kernel refused.
trait Step<T> {
    fn step(self, step: &'static str) -> Result<T, SpawnError>;
}

impl<T> Step<T> for Result<T, InvocationError> {
    fn step(self, step: &'static str) -> Result<T, SpawnError> {
        self.map_err(|refusal| SpawnError::Kernel(step, refusal))
    }
}

/// A server that was built.
#[derive(Debug)]
pub(crate) struct Spawned {
    pub(crate) tcb: Tcb,
}

/// What building a server needs to know beside its description.
pub(crate) struct Order<'a> {
    pub(crate) boot: &'a Boot,
    pub(crate) parts: &'a mut Parts,
    /// Root's own memory, for page tables of root's and device pages.
    pub(crate) root: &'a mut Memory,
    /// Where faults go, and where the server's last words go.
    pub(crate) endpoint: Endpoint,
    /// The badge of its faults.
    pub(crate) fault_badge: u64,
    /// The badge of its last words.
    pub(crate) parent_badge: u64,
    pub(crate) index: u32,
    pub(crate) server: Server<'static>,
    pub(crate) restarts: u64,
}

/// A server while it is being built.
struct Building<'a, 'b> {
    order: &'a mut Order<'b>,
    memory: Memory,
    cnode: CNode,
    radix: u8,
    space: VSpace,
    places: Places,
    information: Information,
}

impl Order<'_> {
    /// The memory that the server is to be built from.
    pub(crate) fn territory(&mut self) -> Result<Territory, SpawnError> {
        if let Some(plan) = self.server.host {
            let home = host::home_bytes(self, plan);
            return Territory::take(self.root, home, 0).step("memory");
        }
        let pages = self.program()?.page_count().saturating_mul(PAGE_BYTES);
        let home = OBJECT_BYTES + STACK_BYTES + pages;
        Territory::take(self.root, home, self.server.memory_bytes).step("memory")
    }

    /// Builds the server, not yet running.
    pub(crate) fn build(&mut self, territory: &Territory) -> Result<Spawned, SpawnError> {
        match self.server.host {
            Some(plan) => host::build(self, territory, plan),
            None => self.build_server(territory),
        }
    }

    fn build_server(&mut self, territory: &Territory) -> Result<Spawned, SpawnError> {
        let program = self.program()?;
        let mut memory = territory.memory();
        let cnode = memory.make(ObjectType::CNode, CNODE_RADIX + abi::object::SLOT_BITS);
        let cnode = CNode(cnode.step("capability space")?);
        let space = make_space(&mut memory, ASIDS).step("address space")?;
        let radix = CNODE_RADIX;
        let information = Information::new(self.boot.info, &self.server, self.restarts, radix);
        let places = PLACES;
        let mut building = Building { order: self, memory, cnode, radix, space, places, information };
        building.image(&program).step("image")?;
        building.stack(STACK_BYTES).step("stack")?;
        let tcb = building.thread(program.entry()).step("thread")?;
        building.channels().step("channels")?;
        building.devices().step("devices")?;
        building.grants(territory).step("memory grants")?;
        building.information_page().step("information")?;
        // The image's text was written as data.
        runtime::trap::instruction_barrier();
        Ok(Spawned { tcb })
    }

    fn program(&self) -> Result<Program<'static>, SpawnError> {
        Program::parse(self.executable()?).map_err(SpawnError::Elf)
    }

    fn executable(&self) -> Result<&'static [u8], SpawnError> {
        let entry = self.boot.archive.find(self.server.program);
        entry.map(|entry| entry.data).ok_or(SpawnError::NoProgram)
    }
}

impl Building<'_, '_> {
    /// Capability slots are named by their number in a fresh CNode, which has no guard yet.
    fn fresh_depth(&self) -> u64 {
        u64::from(self.radix)
    }

    /// Puts a copy of a capability of root's into a slot of the server's.
    fn give(&self, source: CPtr, to: u64, rights: Rights) -> Result<(), InvocationError> {
        self.cnode.copy(CNODE, to, self.fresh_depth(), source.0, DEPTH, rights.raw())
    }

    fn give_badged(&self, source: CPtr, to: u64, rights: Rights, badge: u64) -> Result<(), InvocationError> {
        self.cnode.mint(CNODE, to, self.fresh_depth(), source.0, DEPTH, rights.raw(), badge)
    }

    fn image(&mut self, program: &Program<'static>) -> Result<(), InvocationError> {
        for segment in program.segments() {
            let access = match segment.access {
                SegmentAccess::Read => Access::Read,
                SegmentAccess::ReadWrite => Access::ReadWrite,
                SegmentAccess::ReadExecute => Access::ReadExecute,
            };
            let first = self.information.take_slots(segment.page_count());
            for (page, to) in segment.pages().zip(first.0..) {
                let frame = filled_page(self.order.root, &mut self.memory, page.data_at, page.data)?;
                map(&mut self.memory, self.space, frame, page.vaddr, access)?;
                self.give(frame.0, to, Rights::ALL)?;
            }
            self.information.add_segment(ImageSegment {
                address: segment.first_page(),
                pages: segment.page_count(),
                first_slot: first.0,
                access: segment.access.code(),
            })?;
        }
        Ok(())
    }

    fn stack(&mut self, bytes: u64) -> Result<(), InvocationError> {
        // Nothing is mapped below: an overflow is a fault that root reports.
        for page in 0..bytes / PAGE_BYTES {
            let address = self.places.stack_top - (page + 1) * PAGE_BYTES;
            map_new_page(&mut self.memory, self.space, address, Access::ReadWrite)?;
        }
        Ok(())
    }

    fn thread(&mut self, entry: u64) -> Result<Tcb, InvocationError> {
        let Order { endpoint, fault_badge, server, .. } = &*self.order;
        let fault_handler = self.memory.mint(endpoint.0, Rights::ALL, *fault_badge)?;
        let start = Start {
            cnode: self.cnode,
            guard: guard(self.radix),
            space: self.space,
            ipc_buffer: self.places.ipc_buffer,
            pc: entry,
            stack_top: self.places.stack_top,
            arguments: [self.places.information, 0, 0, 0],
            fault_handler,
            authority: TCB,
            priority: u64::from(server.priority),
            max_priority: u64::from(server.max_controlled_priority),
        };
        let thread = make_thread(&mut self.memory, &start)?;
        self.give_usual(thread)?;
        Ok(thread.tcb)
    }

    /// Gives a thread its time, and the server what every server has.
    fn give_usual(&mut self, thread: Thread) -> Result<(), InvocationError> {
        let Order { endpoint, parent_badge, server, .. } = &*self.order;
        let time = Time {
            budget_ns: server.budget_us.saturating_mul(1000),
            period_ns: server.period_us.saturating_mul(1000),
        };
        let context: SchedContext = make_time(&mut self.memory, SCHED_CONTROL, time)?;
        context.bind(thread.tcb)?;
        self.give(thread.tcb.0, slot::TCB, Rights::ALL)?;
        // With the guard, a slot's number is a capability pointer of 64 bits.
        self.give_badged(self.cnode.0, slot::CNODE, Rights::ALL, guard(self.radix))?;
        self.give(self.space.0, slot::VSPACE, Rights::ALL)?;
        self.give(context.0, slot::SCHED_CONTEXT, Rights::ALL)?;
        self.give(thread.ipc_buffer.0, slot::IPC_BUFFER, Rights::ALL)?;
        let may_call = Rights::WRITE.union(Rights::GRANT_REPLY);
        self.give_badged(endpoint.0, slot::PARENT, may_call, *parent_badge)?;
        if let Some(notification) = self.order.parts.notification_of(Owner::Server(self.order.index)) {
            self.give(notification.0, slot::NOTIFICATION, Rights::ALL)?;
        }
        self.authorities()
    }

    fn information_page(&mut self) -> Result<(), InvocationError> {
        let bytes = bytes_of(&self.information.page);
        let frame = filled_page(self.order.root, &mut self.memory, 0, bytes)?;
        map(&mut self.memory, self.space, frame, self.places.information, Access::Read)
    }
}
