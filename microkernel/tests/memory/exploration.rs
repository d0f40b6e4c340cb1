//! Every short order of operations on two spaces and two windows (C-41), against a model, with a TLB that caches
//! all it can; and every revocation of a window stopped at each of its polls, with something else done there.
//!
//! States that look the same are looked at once: what the tables say at three pages of either space (two of them a
//! pair, the third in another table), which windows are bound, and which space has a hardware identifier. What is
//! cached follows from these, since everything is cached after every step.

mod checks;
mod scene;

use std::collections::{BTreeMap, HashSet};

use self::scene::{Operation, PAGES, Plant, SPACES, Scene, WINDOWS};

/// All operations on one space.
fn on_space(space: usize) -> Vec<Operation> {
    let mut all = Vec::new();
    for window in 0..WINDOWS {
        all.extend((0..PAGES).map(|page| Operation::Map { space, page, window, writes: false }));
        all.push(Operation::Map { space, page: 0, window, writes: true });
        all.push(Operation::MapPair { space, window });
        all.extend([false, true].map(|writes| Operation::Protect { space, window, writes }));
        all.push(Operation::Bind { space, window });
    }
    all.extend((0..PAGES).map(|page| Operation::Unmap { space, page }));
    all.extend([Operation::UnmapAll { space }, Operation::Activate { space }]);
    all
}

fn everything() -> Vec<Operation> {
    let revokes = (0..WINDOWS).map(|window| Operation::Revoke { window });
    (0..SPACES).flat_map(on_space).chain(revokes).collect()
}

/// What may come in the midst of a window's revocation.
fn meanwhile(window: usize) -> Vec<Operation> {
    let other = 1 - window;
    let on_space = |space: usize| {
        let maps = (0..PAGES).map(move |page| Operation::Map { space, page, window, writes: false });
        maps.chain([
            Operation::Map { space, page: 0, window: other, writes: false },
            Operation::MapPair { space, window },
            Operation::Protect { space, window, writes: true },
            Operation::UnmapAll { space },
            Operation::Bind { space, window },
            Operation::Activate { space },
            Operation::Delete { space },
        ])
    };
    (0..SPACES).flat_map(on_space).chain([Operation::Revoke { window: other }]).collect()
}

/// Carries out all orders of up to `depth` operations; answers a scene for each state that they lead to.
fn explore(plant: Plant, depth: usize) -> Result<Vec<Scene>, String> {
    let start = Scene::new(plant);
    let mut seen = HashSet::from([start.state()]);
    let mut level = vec![start.clone()];
    let mut all = level.clone();
    for _ in 0..depth {
        let mut next = Vec::new();
        for scene in &level {
            for operation in everything() {
                let mut after = scene.clone();
                after.step(&operation)?;
                if seen.insert(after.state()) {
                    next.push(after);
                }
            }
        }
        all.extend(next.iter().cloned());
        level = next;
    }
    Ok(all)
}

/// Revokes a window, stopping at each poll; wherever the sweep has come past another page of interest, does each
/// operation there and goes on to the end.
fn interrupt_revocations(scene: &Scene) -> Result<usize, String> {
    let mut count = 0;
    for window in 0..WINDOWS {
        let mut going = scene.clone();
        let mut seen = BTreeMap::new();
        while !going.begin_revoke(window)? {
            if seen.insert(going.progress(window), ()).is_some() {
                continue;
            }
            for operation in meanwhile(window) {
                let mut other = going.clone();
                other.step(&operation)?;
                other.end_revoke(window).map_err(|failure| format!("{operation:?} meanwhile: {failure}"))?;
                count += 1;
            }
        }
        going.end_revoke(window)?;
    }
    Ok(count)
}

fn is_long() -> bool {
    std::env::var_os("BIXI_LONG").is_some()
}

/// Of the scenes, some that show a lot: every window in both spaces.
fn busy(scenes: Vec<Scene>, most: usize) -> Vec<Scene> {
    let mut scenes = scenes;
    scenes.sort_by_key(|scene| core::cmp::Reverse(scene.shown()));
    scenes.truncate(most);
    scenes
}

#[test]
fn every_short_order_does_what_the_model_says() {
    let depth = if is_long() { 6 } else { 3 };
    let scenes = explore(Plant::Nothing, depth).unwrap();
    println!("{} states", scenes.len());
    assert!(scenes.len() > 200);
}

#[test]
fn every_revocation_can_be_interrupted_everywhere() {
    let scenes = explore(Plant::Nothing, if is_long() { 3 } else { 2 }).unwrap();
    let scenes = if is_long() { scenes } else { busy(scenes, 40) };
    let counts: Vec<usize> = scenes.iter().map(|scene| interrupt_revocations(scene).unwrap()).collect();
    println!("{} interrupted revocations of {} states", counts.iter().sum::<usize>(), scenes.len());
    assert!(counts.iter().sum::<usize>() > 500);
}

#[test]
fn each_planted_bug_is_found() {
    for plant in Plant::ALL {
        let found = explore(plant, 2).and_then(|scenes| {
            busy(scenes, 40).iter().try_for_each(|scene| interrupt_revocations(scene).map(drop))
        });
        assert!(found.is_err(), "{plant:?} was not found");
    }
}
