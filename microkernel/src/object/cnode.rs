//! CNodes: how capabilities are copied, moved and taken away (seL4 manual §3.1.3).

use abi::{Error, Method, Rights};

use crate::arch::Machine;
use crate::capability::cap::{Cap, Guard, Slot};
use crate::capability::delete::check_alive;
use crate::capability::{derivation, space};
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::object::endpoint;
use crate::object::store::Ref;
use crate::syscall::invoke::{Answer, Arguments, Target};

/// Methods of a CNode.
///
/// Errors: as the table says.
pub fn invoke<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    method: Method,
    arguments: &Arguments,
) -> Result<Answer, Failure> {
    match method {
        Method::CNodeCopy => copy(k, target, arguments, Copy::Plain)?,
        Method::CNodeMint => copy(k, target, arguments, Copy::Minted)?,
        Method::CNodeMove => {
            let (into, from) = (empty_slot(k, target, arguments)?, source(k, arguments)?);
            let cap = k.get(from).cap();
            derivation::move_cap(k, cap, from, into);
        }
        Method::CNodeMutate => {
            let (into, from) = (empty_slot(k, target, arguments)?, source(k, arguments)?);
            let cap = mutated(k.get(from).cap(), arguments, 4)?;
            derivation::move_cap(k, cap, from, into);
        }
        Method::CNodeRotate => rotate(k, target, arguments)?,
        Method::CNodeDelete => {
            let slot = slot(k, &target.cap, arguments, 0)?;
            derivation::delete(k, slot)?;
        }
        Method::CNodeRevoke => {
            let slot = slot(k, &target.cap, arguments, 0)?;
            derivation::revoke(k, slot)?;
        }
        Method::CNodeCancelBadgedSends => cancel_badged_sends(k, target, arguments)?,
        _ => return Err(Error::IllegalOperation.into()),
    }
    Ok(Answer::default())
}

/// Which of the two methods that copy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copy {
    Plain,
    Minted,
}

fn copy<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    arguments: &Arguments,
    kind: Copy,
) -> Result<(), Failure> {
    let (into, from) = (empty_slot(k, target, arguments)?, source(k, arguments)?);
    let rights = Rights::from_raw(arguments.word(4));
    let rights = rights.ok_or(arguments.refuse_word(4, Error::InvalidArgument, Rights::ALL.raw()))?;
    let mut cap = k.get(from).cap().with_at_most(rights);
    if kind == Copy::Minted {
        cap = cap.with_badge(arguments.word(5)).map_err(|failure| arguments.about_word(5, failure))?;
    }
    let cap = derivation::derive(k, from, cap)?;
    derivation::insert(k, cap, from, into);
    Ok(())
}

/// Pivot to destination and source to pivot. Source and destination may be one: then the two change places.
fn rotate<M: Machine>(k: &mut Kernel<M>, target: &Target, arguments: &Arguments) -> Result<(), Failure> {
    let into = slot(k, &target.cap, arguments, 0)?;
    let pivot_root = k.get(arguments.cap_slot(0)?).cap();
    let source_root = k.get(arguments.cap_slot(1)?).cap();
    let pivot = filled(k, slot(k, &pivot_root, arguments, 3)?, arguments, 3)?;
    let source = filled(k, slot(k, &source_root, arguments, 6)?, arguments, 6)?;
    if pivot == into || pivot == source {
        return Err(arguments.refuse_word(3, Error::InvalidArgument, 0));
    }
    if source != into && !k.get(into).is_empty() {
        return Err(arguments.refuse_word(0, Error::SlotOccupied, 0));
    }
    let pivot_cap = rotated(k.get(pivot).cap(), arguments, 2)?;
    let source_cap = rotated(k.get(source).cap(), arguments, 5)?;

    derivation::move_cap(k, pivot_cap, pivot, into);
    // Where source and destination are one, the source's capability went to the pivot just now.
    if source == into {
        derivation::set_cap(k, pivot, source_cap);
    } else {
        derivation::move_cap(k, source_cap, source, pivot);
    }
    Ok(())
}

fn cancel_badged_sends<M: Machine>(
    k: &mut Kernel<M>,
    target: &Target,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let slot = slot(k, &target.cap, arguments, 0)?;
    match k.get(slot).cap() {
        // Only who has every right, as the badge's giver has (seL4 manual §4.2.3).
        Cap::Endpoint { rights, .. } if rights != Rights::ALL => Err(Error::MissingRight.into()),
        Cap::Endpoint { endpoint, badge, .. } => endpoint::cancel_badged_sends(k, endpoint, badge),
        _ => Err(arguments.refuse_word(0, Error::InvalidCapability, 0)),
    }
}

/// The slot that word `index` and the depth behind it name in `root`.
fn slot<M: Machine>(
    k: &Kernel<M>,
    root: &Cap,
    arguments: &Arguments,
    index: usize,
) -> Result<Ref<Slot>, Failure> {
    space::lookup_slot(k, root, arguments.word(index), arguments.word(index + 1))
        .map_err(|failure| arguments.about_word(index, failure))
}

/// The destination: the first two words, in the CNode that is invoked; it must be empty.
fn empty_slot<M: Machine>(
    k: &Kernel<M>,
    target: &Target,
    arguments: &Arguments,
) -> Result<Ref<Slot>, Failure> {
    let slot = slot(k, &target.cap, arguments, 0)?;
    if k.get(slot).is_empty() { Ok(slot) } else { Err(arguments.refuse_word(0, Error::SlotOccupied, 0)) }
}

/// The source: the third and fourth word, in the CNode given.
fn source<M: Machine>(k: &Kernel<M>, arguments: &Arguments) -> Result<Ref<Slot>, Failure> {
    let root = k.get(arguments.cap_slot(0)?).cap();
    filled(k, slot(k, &root, arguments, 2)?, arguments, 2)
}

fn filled<M: Machine>(
    k: &Kernel<M>,
    slot: Ref<Slot>,
    arguments: &Arguments,
    index: usize,
) -> Result<Ref<Slot>, Failure> {
    check_alive(&k.get(slot).cap()).map_err(|failure| arguments.about_word(index, failure))?;
    Ok(slot)
}

/// What Mutate makes of a capability: another guard, exactly as the word says.
fn mutated(cap: Cap, arguments: &Arguments, index: usize) -> Result<Cap, Failure> {
    match (cap, arguments.word(index)) {
        (Cap::CNode { .. }, guard) => {
            cap.with_badge(guard).map_err(|failure| arguments.about_word(index, failure))
        }
        (_, 0) => Ok(cap),
        // A badge is given by Mint alone: an original that moved stays the original.
        _ => Err(arguments.refuse_word(index, Error::InvalidArgument, 0)),
    }
}

/// What Rotate makes of a capability: word 0 leaves it as it is.
fn rotated(cap: Cap, arguments: &Arguments, index: usize) -> Result<Cap, Failure> {
    if arguments.word(index) == 0 { Ok(cap) } else { mutated(cap, arguments, index) }
}

impl Cap {
    /// The capability with those of its rights that are in `rights`.
    pub fn with_at_most(self, rights: Rights) -> Self {
        let at_most = |held: Rights| held.intersection(rights);
        match self {
            Self::Endpoint { endpoint, badge, rights: held } => {
                Self::Endpoint { endpoint, badge, rights: at_most(held) }
            }
            Self::Notification { notification, badge, rights: held } => {
                Self::Notification { notification, badge, rights: at_most(held) }
            }
            Self::Reply { reply, rights: held } => Self::Reply { reply, rights: at_most(held) },
            Self::Frame(frame) => {
                Self::Frame(crate::capability::cap::FrameCap { rights: at_most(frame.rights), ..frame })
            }
            other => other,
        }
    }

    /// The capability with the badge, or for a CNode the guard, that `word` says.
    ///
    /// Errors: [`Error::InvalidArgument`] where there is a badge already, for what has neither unless `word`
    /// is 0, and for a guard that can never match.
    pub fn with_badge(self, word: u64) -> Result<Self, Failure> {
        match self {
            Self::Endpoint { endpoint, badge: 0, rights } => {
                Ok(Self::Endpoint { endpoint, badge: word, rights })
            }
            Self::Notification { notification, badge: 0, rights } => {
                Ok(Self::Notification { notification, badge: word, rights })
            }
            Self::CNode { base, radix, .. } => match Guard::from_word(word, radix) {
                Some(guard) => Ok(Self::CNode { base, radix, guard }),
                None => Err(Error::InvalidArgument.into()),
            },
            Self::Endpoint { .. } | Self::Notification { .. } => Err(Error::InvalidArgument.into()),
            other if word == 0 => Ok(other),
            _ => Err(Error::InvalidArgument.into()),
        }
    }
}
