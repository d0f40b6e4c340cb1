//! Threads, messages and time: stories on the mock machine, one file a subject.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod deletion;
#[cfg(test)]
mod exploration;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod meetings;
#[cfg(test)]
mod notifications;
#[cfg(test)]
mod planted;
#[cfg(test)]
mod replies;
#[cfg(test)]
mod stopping;
#[cfg(test)]
mod time;
#[cfg(test)]
mod timers;
#[cfg(test)]
mod transfer;
#[cfg(test)]
mod world;
