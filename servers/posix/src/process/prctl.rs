//! prctl and personality.

use super::{Adopts, Signal, Thread};
use crate::Errno;
use crate::dispatch::Arguments;
use crate::host::Host;
use crate::number::low_u32;
use crate::server::Server;
use crate::user::{UserPtr, UserSlice};

const SET_PDEATHSIG: u32 = 1;
const GET_PDEATHSIG: u32 = 2;
const GET_DUMPABLE: u32 = 3;
const SET_NAME: u32 = 15;
const GET_NAME: u32 = 16;
const CAPBSET_READ: u32 = 23;
const GET_SECUREBITS: u32 = 27;
const SET_CHILD_SUBREAPER: u32 = 36;
const GET_CHILD_SUBREAPER: u32 = 37;
const SET_NO_NEW_PRIVS: u32 = 38;
const GET_NO_NEW_PRIVS: u32 = 39;
const NAME_BYTES: u64 = 16;

/// prctl(2); EINVAL for what is not there, as Linux answers unknown options.
pub fn prctl<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    let [option, argument, third, fourth, fifth, _] = arguments.words();
    match low_u32(option) {
        SET_PDEATHSIG => {
            let signal = Signal::new(argument);
            if signal.is_none() && argument != 0 {
                return Err(Errno::EINVAL);
            }
            server.process_mut()?.parent_death = signal;
            Ok(0)
        }
        GET_PDEATHSIG => {
            let signal = server.process()?.parent_death.map_or(0, |signal| u32::from(signal.0));
            server.view()?.write(UserPtr::new(argument)?, &signal)?;
            Ok(0)
        }
        SET_NAME => {
            let mut text = alloc::vec::Vec::new();
            let result = server.view()?.read_string(argument, 15, &mut text);
            // A longer name is cut, not refused.
            result.or_else(|error| if error == Errno::ENAMETOOLONG { Ok(()) } else { Err(error) })?;
            server.thread_mut()?.name = Thread::name_of(&text);
            Ok(0)
        }
        GET_NAME => {
            let name = server.thread()?.name;
            server.view()?.write_bytes(&name, UserSlice::new(argument, NAME_BYTES)?)?;
            Ok(0)
        }
        GET_DUMPABLE => Ok(1),
        CAPBSET_READ if argument <= super::capability::LAST => Ok(1),
        GET_SECUREBITS => Ok(0),
        SET_CHILD_SUBREAPER => {
            server.process_mut()?.adopts = if argument == 0 { Adopts::No } else { Adopts::Descendants };
            Ok(0)
        }
        GET_CHILD_SUBREAPER => {
            let adopts = u32::from(server.process()?.adopts == Adopts::Descendants);
            server.view()?.write(UserPtr::new(argument)?, &adopts)?;
            Ok(0)
        }
        // No file gives privileges here, so that everybody is without new ones; it cannot be taken back.
        SET_NO_NEW_PRIVS if (argument, third, fourth, fifth) == (1, 0, 0, 0) => {
            server.process_mut()?.no_new_privileges = 1;
            Ok(0)
        }
        GET_NO_NEW_PRIVS if (argument, third, fourth, fifth) == (0, 0, 0, 0) => {
            Ok(server.process()?.no_new_privileges)
        }
        _ => Err(Errno::EINVAL),
    }
}

/// personality(2): kept and told; LoongArch's Linux has no other behaviour for any bit that programs set.
pub fn personality<H: Host>(server: &mut Server<H>, arguments: Arguments) -> Result<u64, Errno> {
    const QUERY: u32 = u32::MAX;
    let wanted = low_u32(arguments.word(0));
    let process = server.process_mut()?;
    let before = process.personality;
    if wanted != QUERY {
        process.personality = wanted;
    }
    Ok(u64::from(before))
}
