//! Messages: every length, both ways, at once and after waiting; and what is refused (CASES 4, 5).

use abi::{CPtr, Error, MessageInfo, Syscall};
use runtime::message::{Buffer, info};
use runtime::stubs::{Endpoint, Notification, Reply};
use runtime::trap::{Arguments, NO_WORDS, Received, Words, trap};

use super::stories;
use crate::kit::assistant::Role;
use crate::kit::failure::{Failure, Outcome, equal, holds, refused};
use crate::kit::shared::{Cell, rest};
use crate::kit::stage::{HERE, NOTHING, Stage};

stories! {
    every_length_travels_both_ways,
    a_message_too_long_is_refused,
    words_past_the_registers_need_a_buffer,
    a_plain_send_delivers_nothing_back,
    nothing_waits_so_nothing_is_received,
    the_badge_is_the_senders_capabilitys,
    sending_and_receiving_need_their_rights,
    a_label_has_all_its_bits,
}

/// Answers every message with itself.
pub(super) extern "C" fn echo(endpoint: u64, reply: u64, _: u64, _: u64) -> ! {
    let (endpoint, reply) = (Endpoint(CPtr(endpoint)), Reply(CPtr(reply)));
    let mut received = endpoint.recv(reply);
    loop {
        let answer = MessageInfo::new(received.info.label(), length(&received));
        received = endpoint.reply_recv_inline(reply, answer, received.words);
    }
}

fn length(received: &Received) -> u8 {
    u8::try_from(received.info.length()).unwrap_or(0)
}

/// Word `index` of message `number`.
fn word(number: usize, index: usize) -> u64 {
    0x0123_4567_0000_0000 | (number as u64) << 16 | index as u64
}

fn every_length_travels_both_ways(stage: &mut Stage) -> Outcome {
    let spaces = [HERE, stage.there()?];
    for space in spaces {
        let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
        stage.passive(space, echo, [endpoint.0.0, reply.0.0, 0, 0])?;
        let buffer = Buffer::of_thread().ok_or(Error::NoIpcBuffer)?;
        for number in 0..=120_usize {
            let words: Words = core::array::from_fn(|index| word(number, index));
            (8..number).for_each(|index| buffer.set_word(index, word(number, index)));
            // What lies behind the message must not travel.
            buffer.set_word(number.max(8), 0xdead);
            let sent = info(number as u64, number);
            let answer = endpoint.call_inline(sent, words).accepted()?;
            equal("length", answer.info.length(), number)?;
            equal("label", answer.info.label(), number as u64)?;
            for index in 0..number {
                equal("word", answer.word(index), word(number, index))?;
            }
        }
    }
    Ok(())
}

fn a_message_too_long_is_refused(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    stage.passive(HERE, echo, [endpoint.0.0, reply.0.0, 0, 0])?;
    for length in 121..=127_usize {
        for operation in [Syscall::Call, Syscall::Send, Syscall::NBSend] {
            let message = Arguments { info: info(1, length), ..Arguments::of(endpoint.0) };
            refused("too long", trap(operation, message).accepted(), Error::MessageTooLong)?;
        }
    }
    // The server was not disturbed.
    equal("an answer", endpoint.call(7, [1, 2])?, [1, 2])
}

extern "C" fn send_long(endpoint: u64, length: u64, _: u64, _: u64) -> ! {
    let message = info(1, usize::try_from(length).unwrap_or(0));
    let answer = Endpoint(CPtr(endpoint)).call_inline(message, NO_WORDS).accepted();
    Cell(0).set(answer.map_or_else(|refusal| refusal.error.label(), |_| 1000));
    rest()
}

fn words_past_the_registers_need_a_buffer(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    stage.passive(HERE, echo, [endpoint.0.0, reply.0.0, 0, 0])?;
    let sender = stage.hire(Role::ABOVE, send_long, [endpoint.0.0, 9, 0, 0])?;
    sender.tcb.set_ipc_buffer(NOTHING)?;
    sender.resume()?;
    equal("the sender's error", Cell(0).get(), Error::NoIpcBuffer.label())?;
    let sender = stage.hire(Role::ABOVE, send_long, [endpoint.0.0, 8, 0, 0])?;
    sender.tcb.set_ipc_buffer(NOTHING)?;
    sender.resume()?;
    equal("eight words need none", Cell(0).get(), 1000)
}

extern "C" fn receive_one(endpoint: u64, reply: u64, done: u64, _: u64) -> ! {
    let received = Endpoint(CPtr(endpoint)).recv(Reply(CPtr(reply)));
    Cell(0).set(received.badge);
    Cell(1).set(received.info.raw());
    Cell(2).set(received.word(0));
    let _ = Notification(CPtr(done)).signal();
    rest()
}

fn a_plain_send_delivers_nothing_back(stage: &mut Stage) -> Outcome {
    let (endpoint, reply, done) = (stage.endpoint()?, stage.reply()?, stage.notification()?);
    let badged = stage.badged(endpoint, 77)?;
    stage.start(Role::ABOVE, receive_one, [endpoint.0.0, reply.0.0, done.0.0, 0])?;
    let sent = Arguments { info: info(5, 1), words: [9, 0, 0, 0, 0, 0, 0, 0], ..Arguments::of(badged.0) };
    let answer = trap(Syscall::Send, sent);
    equal("the badge after a Send", answer.badge, 0)?;
    equal("its result", answer.accepted()?.info, MessageInfo::from_kernel(0, 0))?;
    equal("the receiver's badge", Cell(0).get(), 77)?;
    equal("its message", (Cell(1).get(), Cell(2).get()), (info(5, 1).raw(), 9))
}

fn nothing_waits_so_nothing_is_received(stage: &mut Stage) -> Outcome {
    let (endpoint, reply, notification) = (stage.endpoint()?, stage.reply()?, stage.notification()?);
    let received = endpoint.nb_recv(reply);
    equal("the badge of nothing", received.badge, 0)?;
    equal("its length", received.info.length(), 0)?;
    equal("a poll of nothing", notification.poll()?, 0)?;
    endpoint.nb_send(info(1, 0), NO_WORDS)?;
    equal("nobody took what was sent", endpoint.nb_recv(reply).badge, 0)
}

fn the_badge_is_the_senders_capabilitys(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    for badge in [0, 1, 0xffff_ffff_ffff_ffff] {
        let sender = if badge == 0 { endpoint } else { stage.badged(endpoint, badge)? };
        // Waiting when the message comes, in turn with the message waiting for the receiver.
        stage.start(Role::ABOVE, call_one, [sender.0.0, badge, 0, 0])?;
        let received = endpoint.recv(reply).accepted()?;
        equal("badge", received.badge, badge)?;
        equal("word", received.word(0), badge)?;
        reply.send(info(0, 1), [badge, 0, 0, 0, 0, 0, 0, 0])?;
        equal("the answer's badge is 0", Cell(0).get(), 0)?;
        equal("the caller came back", Cell(1).get(), badge)?;
    }
    Ok(())
}

extern "C" fn call_one(endpoint: u64, word: u64, _: u64, _: u64) -> ! {
    let answer = Endpoint(CPtr(endpoint)).call_inline(info(0, 1), [word, 0, 0, 0, 0, 0, 0, 0]);
    Cell(0).set(answer.badge);
    Cell(1).set(answer.word(0));
    rest()
}

fn sending_and_receiving_need_their_rights(stage: &mut Stage) -> Outcome {
    use abi::Rights;
    let (endpoint, reply, notification) = (stage.endpoint()?, stage.reply()?, stage.notification()?);
    let memory = &mut stage.memory;
    let read = Endpoint(memory.copy(endpoint.0, Rights::READ)?);
    let write = Endpoint(memory.copy(endpoint.0, Rights::WRITE)?);
    refused("sending without WRITE", read.send(info(0, 0), NO_WORDS), Error::MissingRight)?;
    refused("receiving without READ", write.recv(reply).accepted(), Error::MissingRight)?;
    refused("calling without GRANT_REPLY", write.call(0, [1]), Error::MissingRight)?;
    let read = Notification(memory.copy(notification.0, Rights::READ)?);
    let write = Notification(memory.copy(notification.0, Rights::WRITE)?);
    refused("signalling without WRITE", read.signal(), Error::MissingRight)?;
    refused("polling without READ", write.poll(), Error::MissingRight)
}

fn a_label_has_all_its_bits(stage: &mut Stage) -> Outcome {
    let (endpoint, reply) = (stage.endpoint()?, stage.reply()?);
    stage.passive(HERE, echo, [endpoint.0.0, reply.0.0, 0, 0])?;
    for label in [0, 1, 0xffff, 0x1_0000, 0xffff_ffff_ffff] {
        let answer = endpoint.call_inline(MessageInfo::new(label, 0), NO_WORDS);
        holds("an answer of the server's", !answer.info.is_from_kernel())?;
        equal("label", answer.info.label(), label)?;
    }
    // Bits that only the kernel sets: a sender cannot pass for it.
    let forged = endpoint.call_inline(MessageInfo::from_kernel(1, 0), NO_WORDS);
    if forged.info.is_from_kernel() {
        return Err(Failure::new(format_args!("a forged answer of the kernel's: {:#x}", forged.info.raw())));
    }
    Ok(())
}
