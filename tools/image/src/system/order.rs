//! Who starts first: the order of the description, but for what `after` says.

use super::System;
use super::names::find_server;
use crate::mistake::Mistake;

/// Returns the servers' indices in the order in which root starts them.
pub(super) fn check(system: &System) -> Result<Vec<usize>, Mistake> {
    let mut waiting: Vec<(usize, Vec<usize>)> = Vec::new();
    for (index, server) in system.servers.iter().enumerate() {
        let after: Result<Vec<usize>, Mistake> =
            server.after.iter().map(|name| find_server(system, name)).collect();
        waiting.push((index, after?));
    }
    let mut order = Vec::new();
    while !waiting.is_empty() {
        // The first one in the description's order whose predecessors have all started.
        let ready = |(_, after): &(usize, Vec<usize>)| after.iter().all(|earlier| order.contains(earlier));
        let Some(place) = waiting.iter().position(ready) else { return Err(cycle(system, &waiting)) };
        order.push(waiting.remove(place).0);
    }
    Ok(order)
}

/// Walks back from any server that waits until one comes up again: the cycle, and nothing that leads to it.
fn cycle(system: &System, waiting: &[(usize, Vec<usize>)]) -> Mistake {
    let before = |index: usize| {
        let (_, after) = waiting.iter().find(|(waiter, _)| *waiter == index)?;
        after.iter().copied().find(|earlier| waiting.iter().any(|(waiter, _)| waiter == earlier))
    };
    let mut path: Vec<usize> = Vec::new();
    let mut next = waiting.first().map(|(index, _)| *index);
    while let Some(index) = next.filter(|index| !path.contains(index)) {
        path.push(index);
        next = before(index);
    }
    let start = path.iter().position(|index| Some(*index) == next).unwrap_or(0);
    let ring = path.get(start..).unwrap_or_default();
    let mut mistake = Mistake::new("servers wait for each other in a circle")
        .help("none of them could be the first to start: leave one of these out");
    for index in ring {
        let (Some(server), Some(earlier)) = (system.servers.get(*index), before(*index)) else { continue };
        let Some(earlier) = system.servers.get(earlier) else { continue };
        let place = server.after.iter().find(|name| name.value == earlier.name.value);
        if let Some(place) = place {
            let label = format!("`{}` starts after `{}`", server.name.value, earlier.name.value);
            mistake = mistake.at(&place.span, label);
        }
    }
    mistake
}
