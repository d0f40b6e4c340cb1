//! Who means whom: names that stand once, and names that must exist.

use super::System;
use crate::mistake::{At, Mistake, meant_or_list};

/// A channel's ends as indices of servers, in the description's order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) from: usize,
    pub(super) to: usize,
}

/// Returns the ends of each channel.
pub(super) fn check(system: &System) -> Result<Vec<Ends>, Mistake> {
    each_once("server", system.servers.iter().map(|server| &server.name))?;
    each_once("device", system.devices.iter().map(|device| &device.name))?;
    each_once("channel", system.channels.iter().map(|channel| &channel.name))?;
    let ends = |channel: &super::model::Channel| {
        let (from, to) = (find_server(system, &channel.from)?, find_server(system, &channel.to)?);
        if from == to {
            return Err(Mistake::new(format!(
                "channel `{}` leads from a server to itself",
                channel.name.value
            ))
            .at(&channel.from.span, "from here")
            .at(&channel.to.span, "to the same"));
        }
        Ok(Ends { from, to })
    };
    system.channels.iter().map(ends).collect()
}

/// The index of the server with this name.
pub(super) fn find_server(system: &System, name: &At<String>) -> Result<usize, Mistake> {
    let found = system.servers.iter().position(|server| server.name.value == name.value);
    found.ok_or_else(|| {
        let names: Vec<&str> = system.servers.iter().map(|server| server.name.value.as_str()).collect();
        Mistake::new(format!("there is no server `{}`", name.value))
            .at(&name.span, "no [[server]] has this name")
            .help(meant_or_list(&name.value, &names))
    })
}

fn each_once<'s>(what: &str, names: impl Iterator<Item = &'s At<String>> + Clone) -> Result<(), Mistake> {
    for (index, name) in names.clone().enumerate() {
        if let Some(first) = names.clone().take(index).find(|first| first.value == name.value) {
            return Err(Mistake::new(format!("two {what}s are named `{}`", name.value))
                .at(&first.span, "the first")
                .at(&name.span, "the second")
                .help("give one of them another name"));
        }
    }
    Ok(())
}
