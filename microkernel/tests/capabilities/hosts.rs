//! Hosts on the mock machine: operations at random, deletions that give way at every step, and the vector unit.

use abi::context::{Context, Width, enter, flag};
use abi::fault::host_part;
use abi::{Error, Method, ObjectType};
use microkernel::arch::Machine;
use microkernel::capability::cap::Cap;
use microkernel::entry::Exception;
use microkernel::failure::Failure;
use microkernel::object::host::{self, call, way_out};
use microkernel::object::store::Ref;
use microkernel::object::thread::{Exit, Tcb, register};
use proptest::prelude::*;

use crate::world::{World, at, error};

const HOST: u64 = at::FREE;
const CONTEXTS: u64 = at::FREE + 1;
const UPPER: u64 = at::FREE + 2;
const THREADS: [u64; 2] = [at::FREE + 3, at::FREE + 4];
const SPACES: [u64; 3] = [at::FREE + 5, at::FREE + 6, at::FREE + 7];
const POOL: u64 = at::FREE + 8;
const SCRATCH: u64 = at::FREE + 9;
const BLOCK: u64 = 0xffff_8002_0001_8000;
const WORDS: [u64; 5] = [BLOCK, 0x1000, 0x2000, 0x3000, 0x4000];

/// Every object that a host stands on, in slots.
struct Scene(World);

impl Scene {
    fn new() -> Self {
        let mut world = World::new();
        world.retype(at::UNTYPED, ObjectType::Untyped, 12, SCRATCH, 1).unwrap();
        world
            .call(at::ASID_CONTROL, Method::AsidControlMakePool, &[SCRATCH, at::CNODE], &[POOL, 64])
            .unwrap();
        let mut scene = Self(world);
        scene.fill();
        scene
    }

    /// Makes again what is missing.
    fn fill(&mut self) {
        let world = &mut self.0;
        let objects = [
            (HOST, ObjectType::Host, 9),
            (CONTEXTS, ObjectType::Frame, 14),
            (UPPER, ObjectType::VSpace, 0),
            (THREADS[0], ObjectType::Tcb, 0),
            (THREADS[1], ObjectType::Tcb, 0),
        ];
        let spaces = SPACES.map(|slot| (slot, ObjectType::VSpace, 0));
        for (slot, object_type, size_bits) in objects.into_iter().chain(spaces) {
            if world.cap(slot) != Cap::Null {
                continue;
            }
            if world.retype(at::UNTYPED, object_type, size_bits, slot, 1).is_err() {
                continue;
            }
            match slot {
                UPPER => {
                    let _ = world.call(at::HOST_CONTROL, Method::HostControlAssignUpper, &[UPPER], &[]);
                }
                slot if SPACES.contains(&slot) => {
                    let _ = world.call(POOL, Method::AsidPoolAssign, &[slot], &[]);
                }
                _ => {}
            }
        }
        let caps = [at::HOST_CONTROL, UPPER, CONTEXTS];
        let _ = world.call(HOST, Method::HostConfigure, &caps, &[]);
    }

    fn configure(&mut self, thread: usize) -> Result<Vec<u64>, microkernel::failure::Refusal> {
        self.0.call(THREADS[thread], Method::TcbConfigureHost, &[HOST], &WORDS)
    }

    fn thread(&self, thread: usize) -> Option<Ref<Tcb>> {
        match self.0.cap(THREADS[thread]) {
            Cap::Tcb(tcb) => Some(tcb),
            _ => None,
        }
    }

    /// A host's call with a word in `$a0`.
    fn host_call(
        &mut self,
        thread: usize,
        operation: fn(
            &mut microkernel::kernel::Kernel<microkernel::arch::mock::MockMachine>,
            Ref<Tcb>,
        ) -> Result<(), Failure>,
        word: u64,
    ) -> Option<Error> {
        let tcb = self.thread(thread)?;
        self.0.k.get(tcb).registers[register::A0].set(word);
        let result = operation(&mut self.0.k, tcb);
        self.0.check();
        match result {
            Err(Failure::Refused(refusal)) => Some(refusal.error),
            _ => None,
        }
    }

    fn disabled_unit(&mut self, thread: usize, width: Width) -> bool {
        let Some(tcb) = self.thread(thread) else { return false };
        let code = 0xe + width as u64;
        let exception = Exception { code, subcode: 0, address: 0, instruction: 0 };
        let enabled = call::enables_unit(&mut self.0.k, tcb, &exception);
        self.0.check();
        enabled
    }
}

#[test]
fn a_context_is_current_for_one_thread() {
    let mut scene = Scene::new();
    for thread in 0..2 {
        scene.configure(thread).unwrap();
    }
    scene.0.call(HOST, Method::HostSetSpace, &[SPACES[0]], &[1]).unwrap();
    scene.0.call(HOST, Method::HostSetSpace, &[SPACES[1]], &[2]).unwrap();
    assert_eq!(scene.host_call(0, call::switch, 1), None);
    assert_eq!(scene.host_call(1, call::switch, 1), Some(Error::Busy));
    assert_eq!(scene.host_call(1, call::switch, 2), None);
    assert_eq!(scene.host_call(0, call::switch, 3), Some(Error::InvalidState));
    assert_eq!(scene.host_call(0, call::switch, 8), Some(Error::RangeError));
    assert_eq!(scene.host_call(0, call::switch, 0), Some(Error::RangeError));
    // With its thread the context is anybody's again.
    scene.0.delete(THREADS[0]).unwrap();
    assert_eq!(scene.host_call(1, call::switch, 1), None);
    assert_eq!(scene.host_call(1, call::enter_full, 0), None);
    let tcb = scene.thread(1).unwrap();
    assert!(scene.0.k.get(tcb).is_in_program());
}

#[test]
fn what_a_thread_loses_is_named() {
    for (slot, part) in
        [(HOST, host_part::HOST), (CONTEXTS, host_part::CONTEXTS), (UPPER, host_part::UPPER_HALF)]
    {
        let mut scene = Scene::new();
        scene.configure(0).unwrap();
        scene.0.call(HOST, Method::HostSetSpace, &[SPACES[0]], &[1]).unwrap();
        assert_eq!(scene.host_call(0, call::switch, 1), None);
        assert!(scene.disabled_unit(0, Width::Lsx));
        assert_eq!(scene.host_call(0, call::enter_full, 0), None);
        scene.0.revoke(slot).unwrap();
        let tcb = scene.0.k.get(scene.thread(0).unwrap());
        assert_eq!((tcb.host_lost.get(), tcb.exit.get()), (part, Exit::Full as u64));
        assert_eq!(scene.0.k.core().vector_owner.get(), None);
        assert_eq!(scene.host_call(0, call::switch, 1), Some(Error::IllegalOperation));
        // It may be made a host's again, of whatever is there.
        scene.0.delete(HOST).unwrap();
        scene.fill();
        assert_eq!(
            error(scene.configure(0)),
            if slot == CONTEXTS { None } else { error(scene.configure(0)) }
        );
    }
}

#[test]
fn a_units_registers_go_where_their_owner_lies() {
    let mut scene = Scene::new();
    scene.configure(0).unwrap();
    for number in 1..=3 {
        scene
            .0
            .call(HOST, Method::HostSetSpace, &[SPACES[usize::try_from(number).unwrap() - 1]], &[number])
            .unwrap();
    }
    let widths = [Width::Fp, Width::Lasx, Width::Lsx];
    for round in 0..4 {
        for (number, width) in (1..).zip(widths) {
            assert_eq!(scene.host_call(0, call::switch, number), None);
            if round == 0 {
                assert!(scene.disabled_unit(0, width));
            } else {
                // It asks for the least: it gets what it has used.
                assert!(scene.disabled_unit(0, Width::Fp));
            }
            let expected = if round == 0 { 0 } else { number << 32 | (round - 1) };
            let unit = &mut scene.0.k.machine.unit;
            for lanes in &mut unit.lanes {
                for lane in lanes.iter_mut().take(width.lanes()) {
                    assert_eq!(*lane, expected, "context {number}, round {round}");
                    *lane = number << 32 | round;
                }
            }
        }
    }
    // What the host writes counts when it says so; a raised cause is not loaded.
    assert_eq!(scene.host_call(0, call::sync_vector, 3), None);
    let tcb = scene.thread(0).unwrap();
    let memory = host::current_context(&scene.0.k, tcb).unwrap();
    let word = |offset: usize| memory.offset(offset as u64);
    let lane = word(core::mem::offset_of!(Context, vector));
    assert_eq!(scene.0.k.machine.load(lane), 3 << 32 | 3);
    scene.0.k.machine.store(lane, 77);
    scene.0.k.machine.store(word(core::mem::offset_of!(Context, fcsr)), u64::MAX);
    scene.0.k.machine.store(word(core::mem::offset_of!(Context, width)), u64::MAX);
    assert_eq!(scene.host_call(0, call::enter_full, 2), Some(Error::InvalidArgument));
    assert_eq!(scene.host_call(0, call::enter_full, enter::VECTOR_CHANGED), None);
    assert!(scene.disabled_unit(0, Width::Fp));
    let unit = &scene.0.k.machine.unit;
    assert_eq!((unit.lanes[0][0], unit.control[1]), (77, 0x001f_031f));
    assert_eq!(scene.0.k.machine.load(word(core::mem::offset_of!(Context, flags))), flag::FCSR_CAUSE);
    // A machine without the unit has nothing to enable.
    scene.0.k.machine.width = Width::Fp;
    assert!(!scene.disabled_unit(0, Width::Lsx));
}

#[derive(Clone, Debug)]
enum Operation {
    Fill,
    Configure(usize),
    SetSpace(u64, Option<usize>),
    Switch(usize, u64),
    Unit(usize, u64),
    Sync(usize, u64),
    Enter(usize, u64),
    /// The program came back.
    Back(usize),
    WayOut(usize),
    Delete(u64),
    Revoke(u64),
}

fn operations() -> impl Strategy<Value = Operation> {
    let thread = 0..2_usize;
    let slot =
        prop::sample::select(vec![HOST, CONTEXTS, UPPER, THREADS[0], THREADS[1], SPACES[0], SPACES[1]]);
    prop_oneof![
        2 => Just(Operation::Fill),
        3 => thread.clone().prop_map(Operation::Configure),
        4 => (0..9_u64, proptest::option::of(0..3_usize)).prop_map(|(n, s)| Operation::SetSpace(n, s)),
        5 => (thread.clone(), 0..9_u64).prop_map(|(t, n)| Operation::Switch(t, n)),
        4 => (thread.clone(), 1..4_u64).prop_map(|(t, w)| Operation::Unit(t, w)),
        1 => (thread.clone(), 0..9_u64).prop_map(|(t, n)| Operation::Sync(t, n)),
        2 => (thread.clone(), 0..2_u64).prop_map(|(t, f)| Operation::Enter(t, f)),
        2 => thread.clone().prop_map(Operation::Back),
        1 => thread.prop_map(Operation::WayOut),
        1 => slot.clone().prop_map(Operation::Delete),
        2 => slot.prop_map(Operation::Revoke),
    ]
}

impl Scene {
    fn carry_out(&mut self, operation: &Operation) {
        match *operation {
            Operation::Fill => self.fill(),
            Operation::Configure(thread) => drop(self.configure(thread)),
            Operation::SetSpace(number, space) => {
                let space = space.map_or(0, |index| SPACES[index]);
                let _ = self.0.call(HOST, Method::HostSetSpace, &[space], &[number]);
            }
            Operation::Switch(thread, number) => drop(self.host_call(thread, call::switch, number)),
            Operation::Sync(thread, number) => drop(self.host_call(thread, call::sync_vector, number)),
            Operation::Enter(thread, flags) => drop(self.host_call(thread, call::enter_full, flags)),
            Operation::Unit(thread, width) => drop(self.disabled_unit(thread, Width::from_raw(width))),
            Operation::Back(thread) => {
                if let Some(tcb) =
                    self.thread(thread).map(|tcb| self.0.k.get(tcb)).filter(|tcb| tcb.is_in_program())
                {
                    tcb.exit.set(Exit::Minimal as u64);
                }
            }
            Operation::WayOut(thread) => {
                if let Some(tcb) = self.thread(thread) {
                    way_out::prepare(&mut self.0.k, tcb);
                }
            }
            Operation::Delete(slot) => drop(self.0.delete(slot)),
            Operation::Revoke(slot) => drop(self.0.revoke(slot)),
        }
        self.0.check();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 120, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_is_done_to_hosts_breaks_them(
        operations in prop::collection::vec(operations(), 1..60),
        gives_way in any::<bool>(),
    ) {
        let mut scene = Scene::new();
        scene.0.k.machine.preempt = gives_way;
        for operation in &operations {
            scene.carry_out(operation);
        }
        scene.0.revoke(at::UNTYPED).unwrap();
        assert!(scene.0.untyped_is_whole());
    }
}
