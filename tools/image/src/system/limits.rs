//! What fits into the page from which a server learns what it was given (`abi::server`).

use super::System;
use super::model::Server;
use crate::mistake::{At, Mistake};
use abi::server::{ARGUMENT_BYTES, MAX_CHANNELS, MAX_DEVICES};

/// Refuses servers with more than they could be told of.
pub(super) fn check(system: &System) -> Result<(), Mistake> {
    for server in &system.servers {
        let channels = system.channels.iter().flat_map(|channel| [&channel.from, &channel.to]);
        let ends = channels.filter(|end| end.value == server.name.value);
        check_count(server, "channels", MAX_CHANNELS, ends)?;
        check_count(server, "devices", MAX_DEVICES, server.devices.iter())?;
        check_arguments(system, server)?;
    }
    Ok(())
}

fn check_count<'s>(
    server: &Server,
    what: &str,
    most: usize,
    mut mentions: impl Iterator<Item = &'s At<String>>,
) -> Result<(), Mistake> {
    mentions.nth(most).map_or(Ok(()), |first| {
        Err(Mistake::new(format!("server `{}` has more than {most} {what}", server.name.value))
            .at(&server.name.span, "this server")
            .at(&first.span, "the first one too many"))
    })
}

/// Arguments are handed over one behind the other, each ended by a NUL.
fn check_arguments(system: &System, server: &Server) -> Result<(), Mistake> {
    let mut bytes = 0;
    for argument in system.arguments_of(server) {
        if argument.value.is_empty() || argument.value.contains('\0') {
            return Err(Mistake::new("an argument is empty or has a NUL in it")
                .at(&argument.span, "cannot be handed over"));
        }
        bytes += argument.value.len() + 1;
        if bytes > ARGUMENT_BYTES {
            return Err(Mistake::new(format!("the arguments of `{}` are too long", server.name.value))
                .at(&argument.span, format!("with this one they have {bytes} bytes"))
                .help(format!(
                    "there is room for {ARGUMENT_BYTES}, counting one more behind each argument; a program's command is one"
                )));
        }
    }
    Ok(())
}
