//! The console: owns the serial lines, and writes what its clients put into their rings (C-61).
//!
//! Invariant: a client's entry is taken out of its ring only when its bytes lie in a line that is still
//! incomplete, or have left the machine; so a client whose ring is empty knows that its lines are out.
//! Lines are never mixed: a client's pieces are gathered ([`client`]) until the line is whole, and a serial
//! line ([`line`]) sends one whole line after the other. The server blocks only in one Wait for all of them.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod client;
mod line;
mod uart;

use heapless::Vec;
use runtime::server::{Events, Server};

use client::Client;
use line::Line;

/// Serial lines that the machine has.
const LINES: usize = 4;
/// Most clients.
const CLIENTS: usize = abi::server::MAX_CHANNELS;

runtime::server_main!(serve);

fn serve(server: Server) -> u8 {
    let mut console = Console { lines: [const { None }; LINES], clients: Vec::new() };
    for (device, badge_bit) in server.devices() {
        let number = device.name().strip_prefix("serial").and_then(|digits| digits.parse::<usize>().ok());
        if let Some(place) = number.and_then(|number| console.lines.get_mut(number)) {
            *place = Line::open(&device, badge_bit);
        }
    }
    for (channel, _) in server.channels() {
        if let Some(client) = Client::of_channel(&channel) {
            let _ = console.clients.push(client);
        }
    }
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
}

impl Console {
    /// Moves text until nothing moves any more.
    fn work(&mut self) {
        let mut moved = true;
        while moved {
            moved = false;
            for (index, client) in self.clients.iter_mut().enumerate() {
                moved |= client.gather();
                if let Some((number, text)) = client.whole_line() {
                    match self.lines.get_mut(number).and_then(Option::as_mut) {
                        Some(line) if line.is_idle() => {
                            line.send(index, text);
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
            for line in self.lines.iter_mut().flatten() {
                if let Some(client) = line.progress() {
                    if let Some(client) = self.clients.get_mut(client) {
                        client.line_sent();
                    }
                    moved = true;
                }
            }
        }
    }

    /// Tells every client that the console sleeps, and looks once more (`abi::ring`).
    fn may_sleep(&mut self) -> bool {
        let mut all_sleep = true;
        for client in &mut self.clients {
            // Every client is told, also when an earlier one has something.
            all_sleep &= client.sleeps();
        }
        all_sleep
    }
}

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("console is a server of Bixi: it runs in an image, see `cargo xtask run --help`");
}
