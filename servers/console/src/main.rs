//! The console: owns the serial lines, writes what its clients put into their rings (C-61), and reads line 1 for
//! the client that it has a ring to.
//!
//! Invariant: a client's entry is taken out of its ring only when its bytes lie in a line that is still
//! incomplete, or have left the machine; so a client whose ring is empty knows that its lines are out.
//! Lines of text are never mixed: a client's pieces are gathered ([`client`]) until the line is whole, and a serial
//! line ([`line`]) sends one whole line after the other; streams go out as they come. Input ([`input`]) ends where
//! a request ([`requests`]) says. The server blocks only in one Wait for all of them.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod client;
mod input;
mod line;
mod requests;
mod uart;

use core::fmt::{self, Write};

use abi::control::Record;
use heapless::{Deque, String, Vec};
use runtime::server::{Events, Server};

use client::Client;
use input::{INPUT_LINE, Input};
use line::{Line, Sender};
use requests::{CONTROL_LINE, Requests};
use uart::Shared;

/// Serial lines that the machine has.
const LINES: usize = 4;
/// The line that the kernel writes to as well.
const LOG_LINE: usize = 0;
/// Most clients.
const CLIENTS: usize = abi::server::MAX_CHANNELS;
/// Most lines of the console's own that wait to be sent; further ones are dropped.
const OWN_LINES: usize = 4;
/// Bytes of a line of its own.
const OWN_BYTES: usize = 160;

runtime::server_main!(serve);

fn serve(server: Server) -> u8 {
    let mut console = Console::open(&server);
    let events = Events::of_server();
    loop {
        console.work();
        if console.may_sleep() {
            let happened = events.wait();
            for line in console.lines.iter_mut().flatten() {
                line.interrupted(happened);
            }
        }
    }
}

struct Console {
    lines: [Option<Line>; LINES],
    clients: Vec<Client, CLIENTS>,
    input: Option<Input>,
    requests: Requests,
    own: Deque<(usize, String<OWN_BYTES>), OWN_LINES>,
}

impl Console {
    fn open(server: &Server) -> Self {
        let mut console = Self {
            lines: [const { None }; LINES],
            clients: Vec::new(),
            input: None,
            requests: Requests::default(),
            own: Deque::new(),
        };
        for (device, badge_bit) in server.devices() {
            let digits = device.name().strip_prefix("serial");
            let number = digits.and_then(|digits| digits.parse::<usize>().ok()).unwrap_or(LINES);
            let shared = if number == LOG_LINE { Shared::WithKernel } else { Shared::No };
            if let Some(place) = console.lines.get_mut(number) {
                *place = Line::open(&device, badge_bit, shared);
            }
        }
        for (channel, _) in server.channels() {
            if let Some(client) = Client::of_channel(&channel) {
                let _ = console.clients.push(client);
            }
            console.input = console.input.or_else(|| Input::of_channel(&channel));
        }
        if console.input.is_some() {
            console.say(CONTROL_LINE, format_args!("{}\n", Record::InputReady));
        }
        console
    }

    /// Moves text until nothing moves any more.
    fn work(&mut self) {
        loop {
            let mut moved = self.take_requests();
            moved |= self.take_input();
            moved |= self.gather();
            moved |= self.send_own();
            moved |= self.progress();
            if !moved {
                return;
            }
        }
    }

    fn take_requests(&mut self) -> bool {
        let Some((input, line)) = self.input.as_mut().zip(line_of(&mut self.lines, CONTROL_LINE)) else {
            return false;
        };
        match self.requests.next(line) {
            None => return false,
            Some(Ok(request)) => input.requested(request),
            Some(Err(refused)) => self.say(LOG_LINE, format_args!("{refused}")),
        }
        true
    }

    fn take_input(&mut self) -> bool {
        let input = self.input.as_mut().zip(line_of(&mut self.lines, INPUT_LINE));
        input.is_some_and(|(input, line)| input.take_from(line))
    }

    /// Takes entries from the clients, and gives their lines what is to be sent.
    fn gather(&mut self) -> bool {
        let mut moved = false;
        for (index, client) in self.clients.iter_mut().enumerate() {
            moved |= client.gather();
            if let Some((number, text)) = client.whole_line() {
                match line_of(&mut self.lines, number) {
                    Some(line) if line.is_idle() => {
                        line.send(Sender::Client(index), text);
                        client.line_taken();
                        moved = true;
                    }
                    Some(_) => {}
                    // A line that the machine or the description lacks: what goes there is dropped.
                    None => {
                        client.line_taken();
                        client.line_sent();
                        moved = true;
                    }
                }
            }
        }
        moved
    }

    /// Gives the console's own oldest line to its serial line.
    fn send_own(&mut self) -> bool {
        let Some((number, text)) = self.own.front() else { return false };
        match line_of(&mut self.lines, *number) {
            Some(line) if !line.is_idle() => return false,
            Some(line) => line.send(Sender::Console, text.as_bytes()),
            None => {}
        }
        self.own.pop_front();
        true
    }

    /// Sends on every line what its device takes.
    fn progress(&mut self) -> bool {
        let mut moved = false;
        for line in self.lines.iter_mut().flatten() {
            let Some(sender) = line.progress() else { continue };
            if let Sender::Client(client) = sender
                && let Some(client) = self.clients.get_mut(client)
            {
                client.line_sent();
            }
            moved = true;
        }
        moved
    }

    /// Tells every client that the console sleeps, and looks once more (`abi::ring`).
    fn may_sleep(&mut self) -> bool {
        let mut all_sleep = self.input.as_mut().is_none_or(Input::sleeps);
        for client in &mut self.clients {
            // Every client is told, also when an earlier one has something.
            all_sleep &= client.sleeps();
        }
        all_sleep
    }

    fn say(&mut self, line: usize, text: fmt::Arguments<'_>) {
        let mut line_text = String::new();
        // What does not fit is cut off, and a line too many is dropped: the console waits for nobody.
        let _ = line_text.write_fmt(text);
        let _ = self.own.push_back((line, line_text));
    }
}

fn line_of(lines: &mut [Option<Line>; LINES], number: usize) -> Option<&mut Line> {
    lines.get_mut(number)?.as_mut()
}

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("console is a server of Bixi: it runs in an image, see `cargo xtask run --help`");
}
