//! Host tests of memory objects and interrupts: stories, and random operations against a model.

#[cfg(test)]
mod exploration;
#[cfg(test)]
mod interrupts;
#[cfg(test)]
mod mapping;
#[cfg(test)]
mod model;
#[cfg(test)]
mod support;
#[cfg(test)]
mod windows;
