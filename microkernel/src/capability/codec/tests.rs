//! The words of every capability, as the hot path's assembly and a debugger see them.

use abi::Rights;
use proptest::prelude::*;

use super::*;

const BASE: u64 = 0x9000_0000_0123_8000;

fn object<T>() -> Ref<T> {
    Ref::from_raw(BASE).unwrap()
}

#[test]
fn words_are_as_written_down() {
    let untyped =
        UntypedCap { base: WindowAddr(BASE), size_bits: 30, is_device: true, free: 192, clean_end: 5 << 14 };
    let mapping = Some(Mapping { asid: 0x1234, address: VirtAddr(0x7fff_ffff_c000) });
    let frame =
        FrameCap { base: WindowAddr(BASE), size_bits: 14, is_device: false, rights: Rights::READ, mapping };
    let tcb_slots_at = BASE + TCB_SLOTS_OFFSET;
    let golden = [
        (Cap::Null, (0, 0)),
        (Cap::Untyped(untyped), (BASE | 1, 30 | 1 << 6 | 3 << 7 | 5 << 38)),
        (
            Cap::CNode { base: object(), radix: 12, guard: Guard { bits: 52, value: 0xabc } },
            (BASE | 2, 12 | 52 << 6 | 0xabc << 12),
        ),
        (Cap::Tcb(object()), (BASE | 3, 0)),
        (Cap::SchedContext(object()), (BASE | 4, 0)),
        (Cap::SchedControl(CoreId(0)), (5, 0)),
        (Cap::AsidControl, (6, 0)),
        (Cap::AsidPool(object()), (BASE | 7, 0)),
        (Cap::PageTable { table: object(), mapping: None }, (BASE | 8, 0)),
        (Cap::PageTable { table: object(), mapping }, (BASE | 8, 1 << 7 | 0x1234 << 8 | 0x1_ffff_ffff << 24)),
        (
            Cap::GivenTable { table: object(), asid: 0x1234, stock: 5 },
            (BASE | 8, 1 << 63 | 5 << 24 | 0x1234 << 8),
        ),
        (Cap::VSpace(object()), (BASE | 9, 0)),
        (Cap::Timer(object()), (BASE | 15, 0)),
        (Cap::IrqControl, (10, 0)),
        (Cap::IrqHandler(IrqLine(63)), (11, 63)),
        (Cap::Debug, (12, 0)),
        (
            Cap::Zombie { base: object(), kind: ZombieKind::CNode { radix: 4 }, remaining: 9 },
            (BASE | 16, 4 | 9 << 6),
        ),
        (
            Cap::Zombie { base: Ref::from_raw(tcb_slots_at).unwrap(), kind: ZombieKind::Tcb, remaining: 5 },
            (BASE | 16, 63 | 5 << 6),
        ),
        (Cap::Notification { notification: object(), badge: 7, rights: Rights::WRITE }, (BASE | 20 | 2, 7)),
        (Cap::Reply { reply: object(), rights: Rights::GRANT }, (BASE | 24 | 1, 0)),
        (Cap::Frame(frame), (BASE | 28 | 1, 14 | 1 << 7 | 0x1234 << 8 | 0x1_ffff_ffff << 24)),
        (Cap::Endpoint { endpoint: object(), badge: !0, rights: Rights::ALL }, (BASE | 32 | 15, !0)),
        (Cap::Endpoint { endpoint: object(), badge: 0, rights: Rights::NONE }, (BASE | 32, 0)),
    ];
    for (cap, words) in golden {
        assert_eq!(encode(cap), words, "{cap:?}");
        assert_eq!(decode(words.0, words.1), cap);
    }
}

#[test]
fn what_a_type_does_not_have_is_left_out() {
    let grant = Cap::Endpoint { endpoint: object(), badge: 0, rights: Rights::GRANT };
    assert_eq!(encode(grant).0, BASE | 32 | 4 | 8, "GRANT brings GRANT_REPLY");
    assert_eq!(encode(grant).0 & tag::CALLABLE, tag::ENDPOINT | 8, "but it cannot be called without WRITE");
    let reply = Cap::Reply { reply: object(), rights: Rights::READ_WRITE };
    assert_eq!(encode(reply).0, BASE | 24);
    let notification = Cap::Notification { notification: object(), badge: 0, rights: Rights::ALL };
    assert_eq!(encode(notification).0, BASE | 20 | 3);
}

/// Clean means clean: what is not a whole unit is rounded down, and a small Untyped is one unit.
#[test]
fn clean_memory_is_never_overstated() {
    let untyped = |size_bits, clean_end| UntypedCap {
        base: WindowAddr(BASE),
        size_bits,
        is_device: false,
        free: 0,
        clean_end,
    };
    for (size_bits, given, kept) in [
        (12, 0, 0),
        (12, 4095, 0),
        (12, 4096, 4096),
        (15, 16383, 0),
        (15, 16384, 16384),
        (15, 32767, 16384),
        (36, 1 << 36, 1 << 36),
    ] {
        let (object, data) = encode(Cap::Untyped(untyped(size_bits, given)));
        assert_eq!(decode(object, data), Cap::Untyped(untyped(size_bits, kept)));
    }
}

#[test]
fn tags_without_meaning_are_empty_slots() {
    for tag in [13].into_iter().chain(17..20).chain(48..64) {
        assert_eq!(decode(BASE | tag, 0), Cap::Null, "tag {tag}");
    }
    for tag in 14..64 {
        assert_eq!(decode(tag, 0), Cap::Null, "tag {tag} without an object");
    }
}

fn rights() -> impl Strategy<Value = Rights> {
    (0_u64..16).prop_map(|raw| with_grant_reply(Rights::from_raw(raw).unwrap()))
}

fn mappings() -> impl Strategy<Value = Option<Mapping>> {
    proptest::option::of((any::<u16>(), 0_u64..1 << 33, any::<bool>()).prop_map(|(asid, page, upper)| {
        let half = if upper { abi::UPPER_HALF_START } else { 0 };
        Mapping { asid, address: VirtAddr(half | page << PAGE_BITS) }
    }))
}

/// Any capability that can be in a slot.
fn caps() -> impl Strategy<Value = Cap> {
    let base =
        (1_u64..1 << 33).prop_map(|page| Ref::<Slot>::from_raw((0x9000 << 48) | (page << 14)).unwrap());
    let fields = (base, rights(), mappings(), any::<u64>(), any::<u64>(), any::<bool>());
    (0..14, fields).prop_map(|(kind, (base, rights, mapping, one, two, is_device))| {
        let address = base.address();
        let narrow = rights.intersection(Rights::READ_WRITE);
        match kind {
            0 => {
                let size_bits = u8::try_from(6 + one % 31).unwrap();
                let size = 1_u64 << size_bits;
                let units = size.div_ceil(1 << 14);
                Cap::Untyped(UntypedCap {
                    base: address,
                    size_bits,
                    is_device,
                    free: (one % (size / 64 + 1)) * 64,
                    clean_end: ((two % (units + 1)) << 14).min(size),
                })
            }
            1 => Cap::CNode {
                base,
                radix: u8::try_from(1 + one % 31).unwrap(),
                guard: Guard { bits: u8::try_from(one % 59).unwrap(), value: two >> 12 },
            },
            2 => Cap::Endpoint { endpoint: base.cast(), badge: one, rights },
            3 => Cap::Notification { notification: base.cast(), badge: one, rights: narrow },
            4 => Cap::Reply { reply: base.cast(), rights: rights.intersection(Rights::GRANT) },
            5 => Cap::Frame(FrameCap {
                base: address,
                size_bits: u8::try_from(14 + one % 23).unwrap(),
                is_device,
                rights: narrow,
                mapping,
            }),
            6 => Cap::PageTable { table: base.cast(), mapping },
            7 => Cap::Zombie {
                base,
                kind: ZombieKind::CNode { radix: u8::try_from(1 + one % 31).unwrap() },
                remaining: two >> 33,
            },
            8 => Cap::Zombie { base: tcb_slots(base.cast()), kind: ZombieKind::Tcb, remaining: one % 6 },
            9 => Cap::Tcb(base.cast()),
            11 => Cap::Host { host: base.cast(), size_bits: u8::try_from(9 + one % 23).unwrap() },
            12 => Cap::Zombie {
                base,
                kind: ZombieKind::Host { size_bits: u8::try_from(9 + one % 22).unwrap() },
                remaining: two >> 33,
            },
            10 => Cap::IrqHandler(IrqLine(one % 64)),
            _ => Cap::VSpace(base.cast()),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_slot_gives_back_what_was_put_in(cap in caps()) {
        let slot = Slot::default();
        slot.next.set(0x40 | 7);
        slot.set_cap(cap);
        prop_assert_eq!(slot.cap(), cap);
        prop_assert_eq!(slot.is_empty(), cap == Cap::Null);
        prop_assert_eq!(slot.next.get(), 0x40 | 7);
    }

    #[test]
    fn no_words_break_the_decoder(object in any::<u64>(), data in any::<u64>()) {
        // Bits without a meaning go with the first writing, and then nothing changes any more.
        let (object, data) = encode(decode(object, data));
        prop_assert_eq!(encode(decode(object, data)), (object, data));
    }
}
