//! Hosts and the programs that they run: `host = {}` in a `[[server]]`, and `[[program]]`.
//!
//! A program's command line becomes an argument of its host (`abi::control::Command`), so that root knows nothing
//! of programs.

use super::System;
use super::model::Server;
use super::names::find_server;
use crate::mistake::{At, Mistake, Span};
use crate::source::{Keys, show_bytes};
use abi::control::{Command, Text};
use abi::description::{FaultPolicy, HostPlan, MAX_HEAP_BYTES, MAX_SPACES};
use abi::upper::LEAF_BYTES;
use toml::de::DeTable;

/// A host that says nothing of it can have this many programs at a time (C-45).
const DEFAULT_SPACES: u32 = 1024;
/// And this much memory for its own data.
const DEFAULT_HEAP_BYTES: u64 = 64 << 20;
/// Bytes of a VSpace.
const SPACE_BYTES: u64 = 2 * abi::PAGE_BYTES;
/// What part of a host's memory becomes page tables (C-45).
const TABLES_PART: u64 = 64;

/// What a server with `host = {}` is.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) plan: HostPlan,
    /// Where it says that it is one.
    pub(crate) span: Span,
}

impl Host {
    pub(super) fn read(keys: &Keys<'_>) -> Result<Self, Mistake> {
        let spaces = keys.number("spaces", 1..=u64::from(MAX_SPACES))?;
        let heap = keys.bytes("heap")?;
        let most = MAX_HEAP_BYTES;
        if let Some(heap) = heap.as_ref().filter(|heap| !(1..=most).contains(&heap.value)) {
            return Err(Mistake::new("`heap` is out of range")
                .at(&heap.span, format!("must be from 1 B to {}", show_bytes(most)))
                .help(format!(
                    "it is rounded up to whole {}; most hosts need little",
                    show_bytes(LEAF_BYTES)
                )));
        }
        let spaces = spaces.and_then(|spaces| u32::try_from(spaces.value).ok());
        Ok(Self {
            plan: HostPlan {
                spaces: spaces.unwrap_or(DEFAULT_SPACES),
                heap_bytes: heap.map_or(DEFAULT_HEAP_BYTES, |heap| heap.value),
            },
            span: keys.span(),
        })
    }

    /// Bytes that it needs before there is any for its programs: image and heap in large leaves, contexts, spaces.
    pub(crate) fn least_bytes(&self) -> u64 {
        let image = 3 * LEAF_BYTES + self.plan.heap_bytes.next_multiple_of(LEAF_BYTES);
        let contexts = self.plan.contexts() << abi::context::CONTEXT_BITS;
        let first_window = LEAF_BYTES + LEAF_BYTES / TABLES_PART;
        image + contexts + u64::from(self.plan.spaces) * SPACE_BYTES + first_window
    }
}

/// One `[[program]]`.
#[derive(Debug)]
pub(crate) struct HostedProgram {
    host: At<String>,
    command: Vec<At<String>>,
    span: Span,
}

impl HostedProgram {
    pub(super) fn read(span: Span, table: &DeTable<'_>) -> Result<Self, Mistake> {
        let keys = Keys::new("[[program]]", span, table, &["host", "command"])?;
        let program = Self {
            host: keys.required("host", keys.name("host")?)?,
            command: keys.required("command", keys.get("command").map(|_| keys.texts("command")))??,
            span: keys.span(),
        };
        let help = "it is a list of words, the program first: `command = [\"/bin/echo\", \"two words\"]`";
        if program.command.first().is_none_or(|name| name.value.is_empty()) {
            return Err(Mistake::new("a program without a name")
                .at(&program.span, "its command names none")
                .help(help));
        }
        match program.command.iter().find(|word| word.value.contains('\0')) {
            Some(word) => {
                Err(Mistake::new("a word of a command has a NUL in it")
                    .at(&word.span, "cannot be handed over"))
            }
            None => Ok(program),
        }
    }

    /// The argument that its host is given.
    fn argument(&self) -> At<String> {
        let words = self.command.iter().map(|word| Text::new(&word.value));
        At { value: Command(words).to_string(), span: self.span.clone() }
    }
}

impl System {
    /// All arguments of a server: its own, then one for each of its programs.
    pub(super) fn arguments_of<'s>(&'s self, server: &'s Server) -> impl Iterator<Item = At<String>> + 's {
        let programs = self.programs.iter().filter(|program| program.host.value == server.name.value);
        server.arguments.iter().cloned().chain(programs.map(HostedProgram::argument))
    }
}

/// Refuses what a host cannot be or have.
pub(super) fn check(system: &System) -> Result<(), Mistake> {
    let mut hosts = system.servers.iter().filter_map(|server| Some((server, server.host.as_ref()?)));
    if let (Some((_, first)), Some((_, second))) = (hosts.clone().next(), hosts.nth(1)) {
        return Err(Mistake::new("there are two hosts")
            .at(&first.span, "the first")
            .at(&second.span, "the second")
            .help("a host is given all memory that is left, so there can be one"));
    }
    for server in &system.servers {
        if let Some(host) = &server.host {
            check_host(server, host)?;
            check_priorities(system, server)?;
        }
    }
    for program in &system.programs {
        let host = system.servers.get(find_server(system, &program.host)?);
        if let Some(server) = host.filter(|server| server.host.is_none()) {
            return Err(Mistake::new(format!("server `{}` is no host", server.name.value))
                .at(&program.host.span, "a program needs one")
                .at(&server.name.span, "this server")
                .help("if its program can host others, add `host = {}` to the server"));
        }
    }
    Ok(())
}

fn check_host(server: &Server, host: &Host) -> Result<(), Mistake> {
    let name = &server.name.value;
    let refuse = |what: &str, span: &Span, label: &str| {
        Mistake::new(format!("host `{name}` {what}")).at(&host.span, "a host").at(span, label)
    };
    if let Some(memory) = &server.memory {
        return Err(refuse("is promised Untyped memory", &memory.span, "in vain")
            .help("a host is given all memory that is left, for its programs: leave this out"));
    }
    if let Some(device) = server.devices.first() {
        return Err(refuse("is given a device", &device.span, "not to a host")
            .help("let another server drive it, and add a channel to that"));
    }
    match &server.on_fault {
        At { value: FaultPolicy::Restart, span } => {
            Err(refuse("cannot be built anew", span, "not for a host")
                .help("its programs would be lost: write `halt`, or `stop`"))
        }
        _ => Ok(()),
    }
}

/// A host runs as long as any of its programs does: whoever it waits for must come before it.
fn check_priorities(system: &System, host: &Server) -> Result<(), Mistake> {
    for channel in &system.channels {
        let ends = [(&channel.from, &channel.to), (&channel.to, &channel.from)];
        let Some((_, other)) = ends.into_iter().find(|(end, _)| end.value == host.name.value) else {
            continue;
        };
        let Some(peer) = system.servers.get(find_server(system, other)?) else { continue };
        if peer.priority.value <= host.priority.value {
            return Err(Mistake::new(format!(
                "host `{}` would not let `{}` run",
                host.name.value, peer.name.value
            ))
            .at(&host.priority.span, "the host's priority")
            .at(&peer.priority.span, "not above it")
            .at(&channel.name.span, "connected here")
            .help(
                "a host runs as long as any of its programs does: give the other server a higher priority",
            ));
        }
    }
    Ok(())
}
